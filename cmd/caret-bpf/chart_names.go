package main

import (
	"fmt"
	"strings"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

// joined lists what is known of several texts.
func joined(texts ...string) string {
	var known []string
	for _, text := range texts {
		if text != "" {
			known = append(known, text)
		}
	}
	return strings.Join(known, ", ")
}

// startedBy says what starts a callback: "subscription /points", "timer 100.0 ms".
func startedBy(kind trace.CallbackKind, topic string, period trace.Optional[int64]) string {
	text := string(kind)
	if topic != "" {
		text += " " + topic
	}
	if period.Valid {
		text += " " + report.Duration(period.Value)
	}
	return strings.TrimSpace(text)
}

// callbackOf is the name of a callback with its node's, with which most begin.
func callbackOf(l analyze.CallbackLabel) string {
	if strings.HasPrefix(l.Callback, l.Node) {
		return l.Callback
	}
	return l.Node + " " + l.Callback
}

// callbackTitle is how drawings name a callback.
func callbackTitle(l analyze.CallbackLabel) string {
	return joined(callbackOf(l), startedBy(l.Kind, l.Topic, l.Period), pidText(l.PID))
}

// periodicTitle is how drawings name what is periodic.
func periodicTitle(subject analyze.Subject, l analyze.PeriodicLabel) string {
	topic, node := report.Text(l.Topic), report.Text(l.Node)
	switch subject {
	case analyze.Topics:
		return joined("publishes of "+topic+" by "+node, pidText(l.PID))
	case analyze.Subscriptions:
		return joined("messages of "+topic+" received by "+node, pidText(l.PID))
	case analyze.Communications:
		return joined(fmt.Sprintf("received publishes of %s: %s → %s", topic, node, report.Text(l.SubscriptionNode)), transportText(l.Transport), pidText(l.PID))
	}
	return callbackTitle(analyze.CallbackLabel{PID: l.PID, Node: l.Node, Callback: l.Callback, Kind: l.Kind, Topic: l.Topic, Period: l.TimerPeriod})
}

// communicationTitle is how drawings name a pair of a publisher and a subscription.
func communicationTitle(l analyze.CommunicationLabel) string {
	return joined(fmt.Sprintf("%s: %s → %s", report.Text(l.Topic), report.Text(l.PublisherNode), report.Text(l.SubscriptionNode)),
		transportText(l.Transport), pidsText(l.PublisherPID, l.SubscriptionPID))
}

// nodeTitle is how drawings name a subscription and a publisher of a node.
func nodeTitle(l analyze.NodeLabel) string {
	return joined(fmt.Sprintf("%s: %s → %s", l.Node, report.Text(l.SubscriptionTopic), report.Text(l.PublisherTopic)), pidText(l.PID))
}

// serviceTitle is how drawings name a part of the calls of a service.
func serviceTitle(l analyze.ServiceLabel, part analyze.ServicePart) string {
	return joined(fmt.Sprintf("%s, %s: %s → %s", report.Text(l.Service), part, report.Text(l.ClientNode), report.Text(l.ServerNode)), pidsText(l.ClientPID, l.ServerPID))
}

func transportText(t analyze.Transport) string { return strings.ReplaceAll(string(t), "_", "-") }

func pidText(pid int32) string { return fmt.Sprintf("PID %d", pid) }

// pidsText names the processes of two sides.
func pidsText(from, to int32) string {
	if from == to {
		return pidText(from)
	}
	return fmt.Sprintf("PIDs %d → %d", from, to)
}
