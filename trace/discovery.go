package trace

// DiscoveryTopic is the topic with which the middlewares tell each other which nodes they serve (rmw_dds_common). It is
// theirs, no node's.
const DiscoveryTopic = "ros_discovery_info"
