package entities

import (
	"fmt"

	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The entities of a survey that belong to a node.

// The mangled names of the classes that entities of a callback group are.
const (
	timerBaseName   = "N6rclcpp9TimerBaseE"
	serviceBaseName = "N6rclcpp11ServiceBaseE"
	clientBaseName  = "N6rclcpp10ClientBaseE"

	genericTimerName        = "N6rclcpp12GenericTimerI"
	publisherName           = "N6rclcpp9PublisherI"
	subscriptionName        = "N6rclcpp12SubscriptionI"
	genericSubscriptionName = "N6rclcpp19GenericSubscriptionE"
	intraProcessName        = "N6rclcpp12experimental24SubscriptionIntraProcessI"
	serviceName             = "N6rclcpp7ServiceI"
	genericServiceName      = "N6rclcpp14GenericServiceE"
	clientName              = "N6rclcpp6ClientI"
)

// partOf returns the class of an object that a pointer to one of its bases leads to.
func (s *survey) partOf(pointer trace.Address, name string) (*class, error) {
	found, object, err := s.classes.of(pointer)
	if err != nil {
		return nil, err
	}
	if part, ok := found.find(name); !ok || object+trace.Address(part.offset) != pointer {
		return nil, fmt.Errorf("%v is no %s: %w", pointer, name, errImplausible)
	}
	return found, nil
}

// callbackOffset is the offset of the callback in the objects of a kind, from the base that precedes it.
func (s *survey) callbackOffset(kind layouts.OwnerKind) trace.Address {
	for _, owner := range s.layout.Owners {
		if owner.Kind == kind {
			return trace.Address(owner.Callback)
		}
	}
	return 0
}

func (s *survey) addCallback(address trace.Address, kind trace.CallbackKind, symbol string) {
	s.rows.CallbackInfos = append(s.rows.CallbackInfos, trace.CallbackInfo{
		Callback: address, Kind: kind, Symbol: symbol, Provenance: trace.FromMemory,
	})
}

func (s *survey) addPublisher(part trace.Address, found *class) error {
	typeName := ""
	if template, ok := found.find(publisherName); ok {
		typeName = template.name
	}
	row, err := steady(same, func() (trace.Publisher, error) {
		if err := s.isAlive(part); err != nil {
			return trace.Publisher{}, err
		}
		handle, err := s.pointer(part + trace.Address(s.layout.PublisherBase.PublisherHandle))
		if err != nil {
			return trace.Publisher{}, err
		}
		row, err := s.publisherAt(handle)
		if err != nil {
			return trace.Publisher{}, err
		}
		if row.NodeHandle, err = s.pointer(part + trace.Address(s.layout.PublisherBase.NodeHandle)); err != nil {
			return trace.Publisher{}, err
		}
		row.NodeName = s.nodeNameAt(row.NodeHandle)
		row.MessageType = s.messageTypeOf(typeName, part+trace.Address(s.layout.PublisherBase.TypeSupport))
		if row.GID == "" {
			row.GID = s.anyGIDAt(row.RMWPublisherHandle, part)
		}
		return row, nil
	})
	if err != nil {
		return err
	}
	s.rows.Publishers = append(s.rows.Publishers, row)
	if messageType(typeName) == "" {
		s.adapted[row.PublisherHandle] = true
	}
	return nil
}

// anyGIDAt reads the gid that an rclcpp publisher keeps of any implementation of rmw.
func (s *survey) anyGIDAt(rmw, part trace.Address) string {
	identifier, err := s.identifierAt(rmw)
	if err != nil {
		return ""
	}
	gid, err := s.rmwGIDAt(part+trace.Address(s.layout.GID.AnyPublisherBase), identifier)
	if err != nil {
		return ""
	}
	return gid
}

// nodeNameAt returns the full name of a node, "" if there is none.
func (s *survey) nodeNameAt(handle trace.Address) string {
	node, err := s.nodeAt(handle)
	if err != nil {
		return ""
	}
	return fullName(node.Namespace, node.NodeName)
}

// addLooseSubscription adds a subscription that no callback group led to.
func (s *survey) addLooseSubscription(part trace.Address, _ *class) error {
	if s.subscriptions[part] {
		return nil
	}
	if err := s.isAlive(part); err != nil {
		return err
	}
	return s.addSubscription(part, &trace.CallbackGroup{})
}

func (s *survey) addSubscription(part trace.Address, group *trace.CallbackGroup) error {
	found, err := s.partOf(part, subscriptionBaseName)
	if err != nil {
		return err
	}
	typeName := ""
	template, traced := found.find(subscriptionName)
	if traced {
		typeName = template.name
	} else {
		_, traced = found.find(genericSubscriptionName)
	}
	var intra trace.Address
	row, err := steady(same, func() (trace.Subscription, error) {
		handle, err := s.pointer(part + trace.Address(s.layout.SubscriptionBase.SubscriptionHandle))
		if err != nil {
			return trace.Subscription{}, err
		}
		row, err := s.subscriptionAt(handle)
		if err != nil {
			return trace.Subscription{}, err
		}
		if row.NodeHandle, err = s.pointer(part + trace.Address(s.layout.SubscriptionBase.NodeHandle)); err != nil {
			return trace.Subscription{}, err
		}
		shared, err := s.sharedPointer(part + trace.Address(s.layout.SubscriptionBase.IntraProcess))
		if err != nil {
			return trace.Subscription{}, err
		}
		intra = 0
		if s.lives(shared) {
			intra = shared.object
		}
		row.NodeName = s.nodeNameAt(row.NodeHandle)
		row.MessageType = s.messageTypeOf(typeName, part+trace.Address(s.layout.SubscriptionBase.TypeSupport))
		return row, nil
	})
	if err != nil {
		return err
	}
	s.subscriptions[part] = true
	row.CallbackGroup = group.CallbackGroup
	inter := row
	inter.Subscription, inter.IsIntraProcess = part, trace.Some(false)
	if traced {
		inter.Callback = part + s.callbackOffset(layouts.OwnerSubscription)
		s.addCallback(inter.Callback, trace.KindSubscription, s.functionSymbol(inter.Callback))
	}
	s.rows.Subscriptions = append(s.rows.Subscriptions, inter)
	if intra != 0 {
		return s.addIntraProcess(intra, row)
	}
	return nil
}

// addIntraProcess adds the intra-process object of a subscription.
func (s *survey) addIntraProcess(object trace.Address, row trace.Subscription) error {
	found, err := s.partOf(object, intraProcessName)
	if err != nil {
		return err
	}
	held, err := steady(same, func() (intraProcess, error) {
		topic, err := s.stdString(object+trace.Address(s.layout.SubscriptionIntraProcess.TopicName), isTopic)
		if err != nil {
			return intraProcess{}, err
		}
		if topic != row.TopicName {
			return intraProcess{}, fmt.Errorf("topic %q of a subscription of %q: %w", topic, row.TopicName, errImplausible)
		}
		return s.intraProcessAt(object)
	})
	if err != nil {
		return err
	}
	row.Subscription, row.IsIntraProcess = object, trace.Some(true)
	row.Buffer, row.IPB, row.Capacity = held.ring, held.ipb, trace.Some(held.capacity)
	if template, ok := found.find(intraProcessName); ok && hasStandardAllocator(template.name) { // else its first execution tells
		row.Callback = object + s.callbackOffset(layouts.OwnerSubscriptionIntraProcess)
		s.addCallback(row.Callback, trace.KindIntraProcessSubscription, s.functionSymbol(row.Callback))
	}
	s.rows.Subscriptions = append(s.rows.Subscriptions, row)
	return nil
}

func (s *survey) addTimer(part trace.Address, group *trace.CallbackGroup) error {
	found, err := s.partOf(part, timerBaseName)
	if err != nil {
		return err
	}
	template, generic := found.find(genericTimerName)
	row, err := steady(same, func() (trace.Timer, error) {
		handle, err := s.pointer(part + trace.Address(s.layout.TimerBase.TimerHandle))
		if err != nil {
			return trace.Timer{}, err
		}
		row, err := s.timerAt(handle)
		if generic {
			row.Callback, _ = s.timerCallback(part) // else its first execution tells
		}
		return row, err
	})
	if err != nil {
		return err
	}
	row.CallbackGroup, row.NodeHandle, row.NodeName = group.CallbackGroup, group.NodeHandle, group.NodeName
	if row.Callback != 0 {
		s.addCallback(row.Callback, trace.KindTimer, s.timerSymbol(row.Callback, template.name))
	}
	s.rows.Timers = append(s.rows.Timers, row)
	return nil
}

func (s *survey) addService(part trace.Address, group *trace.CallbackGroup) error {
	found, err := s.partOf(part, serviceBaseName)
	if err != nil {
		return err
	}
	row, err := steady(same, func() (trace.ServiceServer, error) {
		handle, err := s.pointer(part + trace.Address(s.layout.ServiceBase.ServiceHandle))
		if err != nil {
			return trace.ServiceServer{}, err
		}
		row, err := s.serviceAt(handle)
		if err != nil {
			return trace.ServiceServer{}, err
		}
		row.NodeHandle, err = s.pointer(part + trace.Address(s.layout.ServiceBase.NodeHandle))
		row.NodeName = s.nodeNameAt(row.NodeHandle)
		return row, err
	})
	if err != nil {
		return err
	}
	row.CallbackGroup = group.CallbackGroup
	template, traced := found.find(serviceName)
	if traced {
		row.ServiceType = serviceType(template.name)
	} else {
		_, traced = found.find(genericServiceName)
	}
	if traced {
		row.Callback = part + s.callbackOffset(layouts.OwnerService)
		s.addCallback(row.Callback, trace.KindService, s.functionSymbol(row.Callback))
	}
	s.rows.ServiceServers = append(s.rows.ServiceServers, row)
	if row.ServiceType == changeStateType {
		return s.noteChangeState(row)
	}
	return nil
}

func (s *survey) addClient(part trace.Address, group *trace.CallbackGroup) error {
	found, err := s.partOf(part, clientBaseName)
	if err != nil {
		return err
	}
	row, err := steady(same, func() (trace.Client, error) {
		handle, err := s.pointer(part + trace.Address(s.layout.ClientBase.ClientHandle))
		if err != nil {
			return trace.Client{}, err
		}
		row, err := s.clientAt(handle)
		if err != nil {
			return trace.Client{}, err
		}
		row.NodeHandle, err = s.pointer(part + trace.Address(s.layout.ClientBase.NodeHandle))
		row.NodeName = s.nodeNameAt(row.NodeHandle)
		return row, err
	})
	if err != nil {
		return err
	}
	row.CallbackGroup = group.CallbackGroup
	if template, ok := found.find(clientName); ok {
		row.ServiceType = serviceType(template.name)
	}
	s.rows.Clients = append(s.rows.Clients, row)
	return nil
}
