package system

// undefined is what CARET writes for names that are not known.
const undefined = "UNDEFINED"

// The content of an architecture file, as caret_analyze's ArchitectureExporter writes it and its ArchitectureReaderYaml
// reads it.
type (
	architectureFile struct {
		NamedPaths []pathEntry     `yaml:"named_paths"`
		Executors  []executorEntry `yaml:"executors"`
		Nodes      []nodeEntry     `yaml:"nodes"`
	}

	pathEntry struct {
		Name  string          `yaml:"path_name"`
		Chain []nodePathEntry `yaml:"node_chain"`
	}

	nodePathEntry struct {
		Node              string `yaml:"node_name"`
		PublishTopic      string `yaml:"publish_topic_name"`
		SubscribeTopic    string `yaml:"subscribe_topic_name"`
		PublisherOrder    int    `yaml:"publisher_construction_order,omitempty"`
		SubscriptionOrder int    `yaml:"subscription_construction_order,omitempty"`
	}

	executorEntry struct {
		Type   string   `yaml:"executor_type"`
		Name   string   `yaml:"executor_name"`
		Groups []string `yaml:"callback_group_names"`
	}

	nodeEntry struct {
		Name             string            `yaml:"node_name"`
		Groups           []groupEntry      `yaml:"callback_groups"`
		Callbacks        []callbackEntry   `yaml:"callbacks,omitempty"`
		VariablePassings []passingEntry    `yaml:"variable_passings,omitempty"`
		Publishes        []publisherEntry  `yaml:"publishes,omitempty"`
		Subscribes       []subscriberEntry `yaml:"subscribes,omitempty"`
		MessageContexts  []contextEntry    `yaml:"message_contexts,omitempty"`
	}

	groupEntry struct {
		Type      string   `yaml:"callback_group_type"`
		Name      string   `yaml:"callback_group_name"`
		Callbacks []string `yaml:"callback_names"`
	}

	callbackEntry struct {
		Name   string `yaml:"callback_name"`
		Type   string `yaml:"callback_type"`
		Period *int64 `yaml:"period_ns,omitempty"`
		Topic  string `yaml:"topic_name,omitempty"`
		Symbol string `yaml:"symbol"`
		Order  int    `yaml:"construction_order,omitempty"`
	}

	passingEntry struct {
		Write string `yaml:"callback_name_write"`
		Read  string `yaml:"callback_name_read"`
	}

	publisherEntry struct {
		Topic     string   `yaml:"topic_name"`
		Callbacks []string `yaml:"callback_names"`
		Order     int      `yaml:"construction_order,omitempty"`
	}

	subscriberEntry struct {
		Topic    string `yaml:"topic_name"`
		Callback string `yaml:"callback_name"`
		Order    int    `yaml:"construction_order,omitempty"`
	}

	contextEntry struct {
		Type              string   `yaml:"context_type"`
		SubscriptionTopic string   `yaml:"subscription_topic_name"`
		PublisherTopic    string   `yaml:"publisher_topic_name"`
		PublisherOrder    int      `yaml:"publisher_construction_order,omitempty"`
		SubscriptionOrder int      `yaml:"subscription_construction_order,omitempty"`
		Callbacks         []string `yaml:"callbacks,omitempty"`
	}
)

// The types of callbacks, as CARET writes them.
const (
	timerCallback        = "timer_callback"
	subscriptionCallback = "subscription_callback"
)
