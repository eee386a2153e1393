# One distribution: make -f distro.mk DISTRO=humble|jazzy OUTPUT=...
# For another machine: CROSS=aarch64-linux-gnu- SYSROOT=..., a Debian of that machine.
# Flags follow the distribution's packages: both have CET on x86-64, Jazzy branch protection on arm64;
# 24.04 (Jazzy) keeps frame pointers. Like Ubuntu's linker, -z ibtplt makes .plt.sec and -z now binds at start.

ifdef CROSS
CC := $(CROSS)gcc --sysroot=$(SYSROOT)
CXX := $(CROSS)g++ --sysroot=$(SYSROOT)
endif
STRIP := $(CROSS)strip
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))

PROTECTION_humble_x86_64 := -fcf-protection
PROTECTION_jazzy_x86_64 := -fcf-protection
PROTECTION_jazzy_aarch64 := -mbranch-protection=standard
PROTECTION := $(PROTECTION_$(DISTRO)_$(MACHINE))
PLT_x86_64 := -Wl,-z,ibtplt
RED_ZONE_x86_64 := red_zone
# Release 3 of Fast DDS has another name. The compiler prints a path of libraries that it finds.
FAST_DDS := $(if $(findstring /,$(shell $(CXX) -print-file-name=libfastdds.so)),fastdds,fastrtps)

ifeq ($(DISTRO),humble)
MACRO := STANDIN_HUMBLE
CODE_FLAGS := -O2 $(PROTECTION)
else ifeq ($(DISTRO),jazzy)
MACRO := STANDIN_JAZZY
CODE_FLAGS := -O2 $(PROTECTION) -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
else
$(error DISTRO must be humble or jazzy)
endif

DIRECTORY := $(OUTPUT)/$(DISTRO)
STRIPPED := $(DIRECTORY)-stripped
OBJECTS := $(DIRECTORY)/objects

WARNINGS := -Wall -Wextra
FLAGS := $(CODE_FLAGS) -fPIC $(WARNINGS) -Iinclude -D$(MACRO) -DSTANDIN_DISTRO='"$(DISTRO)"' -MMD -MP
CFLAGS = -std=gnu11 $(FLAGS)
CXXFLAGS = -std=c++20 $(FLAGS)
LDFLAGS := -L$(DIRECTORY) -Wl,-rpath,'$$ORIGIN' -Wl,-z,now $(PLT_$(MACHINE)) -Wl,--no-undefined -pthread

objects_of = $(patsubst %,$(OBJECTS)/%.o,$(basename $(wildcard $(addsuffix /*.cpp,$(1)))))

LIBRARIES := tracetools standin rmw_fastrtps_shared_cpp rmw_fastrtps_cpp rmw_cyclonedds_cpp \
             rmw_implementation rcl rcl_lifecycle rclcpp standin_component crowd
PRODUCTS := $(LIBRARIES:%=lib%.so) ros_node busy spender pipeline $(RED_ZONE_$(MACHINE))

# Where tools look for message definitions: the share folder of an ament prefix.
INTERFACES := $(wildcard share/*/msg/*.msg share/*/srv/*.srv)

all: $(PRODUCTS:%=$(DIRECTORY)/%) $(PRODUCTS:%=$(STRIPPED)/%) \
     $(INTERFACES:%=$(DIRECTORY)/%) $(INTERFACES:%=$(STRIPPED)/%)

tracetools_objects := $(OBJECTS)/src/tracetools/$(DISTRO).o $(OBJECTS)/src/tracetools/utils.o
standin_objects := $(call objects_of,src/standin)
rmw_fastrtps_shared_cpp_objects := $(call objects_of,src/rmw_fastrtps_shared_cpp)
rmw_fastrtps_cpp_objects := $(call objects_of,src/rmw_fastrtps_cpp src/rmw_common)
rmw_cyclonedds_cpp_objects := $(call objects_of,src/rmw_cyclonedds_cpp src/rmw_common)
rmw_implementation_objects := $(call objects_of,src/rmw_implementation)
rcl_objects := $(call objects_of,src/rcl)
rcl_lifecycle_objects := $(call objects_of,src/rcl_lifecycle)
rclcpp_objects := $(call objects_of,src/rclcpp)
standin_component_objects := $(call objects_of,component)
crowd_objects := $(call objects_of,crowd)
ros_node_objects := $(call objects_of,ros_node)
busy_objects := $(call objects_of,busy)
spender_objects := $(call objects_of,spender)
pipeline_objects := $(call objects_of,pipeline)

rmw_fastrtps_shared_cpp_needs := tracetools standin
rmw_fastrtps_cpp_needs := rmw_fastrtps_shared_cpp tracetools standin
rmw_cyclonedds_cpp_needs := tracetools standin
rcl_needs := tracetools standin rmw_implementation
rcl_lifecycle_needs := tracetools standin rcl
rclcpp_needs := tracetools standin rmw_implementation rcl
standin_component_needs := rclcpp rcl tracetools standin
crowd_needs := tracetools
ros_node_needs := rclcpp rcl_lifecycle rcl tracetools standin
busy_needs := rclcpp rcl tracetools standin
spender_needs := $(busy_needs)
pipeline_needs := $(busy_needs)

rmw_fastrtps_shared_cpp_system := -l$(FAST_DDS)
rmw_fastrtps_cpp_system := -l$(FAST_DDS)
rmw_cyclonedds_cpp_system := -lddsc
rmw_implementation_system := -ldl
ros_node_system := -ldl

# These two export their public interface only.
$(rcl_objects) $(rcl_lifecycle_objects): FLAGS += -fvisibility=hidden
# The real functions set up their frame first of all; these smaller ones would do it after a first test.
$(OBJECTS)/src/tracetools/jazzy.o $(OBJECTS)/src/rclcpp/executor.o \
$(OBJECTS)/src/rclcpp/callback_group.o $(OBJECTS)/src/rclcpp/executor_entities_collector.o \
$(OBJECTS)/src/rclcpp/static_executor_entities_collector.o: FLAGS += -fno-shrink-wrap

define library_rule
$(DIRECTORY)/lib$(1).so: $$($(1)_objects) $$($(1)_needs:%=$(DIRECTORY)/lib%.so)
	$$(CXX) -shared -Wl,-soname,lib$(1).so -o $$@ $$($(1)_objects) $$(LDFLAGS) $$($(1)_needs:%=-l%) $$($(1)_system)
endef
$(foreach library,$(LIBRARIES),$(eval $(call library_rule,$(library))))

define program_rule
$(DIRECTORY)/$(1): $$($(1)_objects) $$($(1)_needs:%=$(DIRECTORY)/lib%.so)
	$$(CXX) -pie -o $$@ $$($(1)_objects) $$(LDFLAGS) $$($(1)_needs:%=-l%) $$($(1)_system)
endef
$(foreach program,ros_node busy spender pipeline,$(eval $(call program_rule,$(program))))

$(DIRECTORY)/red_zone: $(OBJECTS)/red_zone/red_zone.o
	$(CC) -pie -o $@ $^ -Wl,-z,now

$(OBJECTS)/%.o: %.cpp distro.mk
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -c $< -o $@

$(OBJECTS)/%.o: %.c distro.mk
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c $< -o $@

$(DIRECTORY)/share/%: share/%
	@mkdir -p $(@D)
	cp $< $@

$(STRIPPED)/share/%: share/%
	@mkdir -p $(@D)
	cp $< $@

$(STRIPPED)/%: $(DIRECTORY)/%
	@mkdir -p $(@D)
	$(STRIP) --strip-unneeded -o $@ $<

-include $(shell find $(OBJECTS) -name '*.d' 2>/dev/null)
