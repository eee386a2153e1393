// Fast DDS under one set of names: release 3 moved its headers and namespaces, and changed what
// functions return.
#pragma once

#if __has_include(<fastdds/rtps/transport/UDPv4TransportDescriptor.hpp>)
#define FAST_DDS_3
#include <fastdds/dds/core/ReturnCode.hpp>
#include <fastdds/dds/core/Time_t.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.hpp>
#include <fastdds/utils/IPLocator.hpp>
#else
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastrtps/types/TypesBase.h>
#include <fastrtps/utils/IPLocator.h>
#endif

namespace rmw_fastrtps_shared_cpp {

namespace dds = eprosima::fastdds::dds;

#ifdef FAST_DDS_3
namespace rtps = eprosima::fastdds::rtps;
using Time = dds::Time_t;
using ReturnCode = dds::ReturnCode_t;
inline const ReturnCode kOk = dds::RETCODE_OK;
#else
namespace rtps = eprosima::fastrtps::rtps;
using Time = eprosima::fastrtps::Time_t;
using ReturnCode = eprosima::fastrtps::types::ReturnCode_t;
inline const ReturnCode kOk = ReturnCode::RETCODE_OK;
#endif

// What functions return that were predicates before.
inline bool succeeded(bool result) { return result; }
inline bool succeeded(const ReturnCode &result) { return result == kOk; }

}  // namespace rmw_fastrtps_shared_cpp
