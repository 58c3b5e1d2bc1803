package notice

import (
	"fmt"
	"slices"
	"strings"
)

// Subscription names a target and the events of which it is notified.
type Subscription struct {
	// Target is the name of a target of tasknotify.Config: at most 63 lower case letters, digits, underscores and hyphens.
	Target string `json:"target"`
	// Events are the events. Defaults to Ended alone.
	Events []Event `json:"events,omitempty"`
}

// MaxSubscriptions is how many subscriptions a task can have.
const MaxSubscriptions = 20

const maxTarget = 63

// None is written for no subscriptions in the directive of a kind (notify=none), against the subscriptions of all kinds. It is not the name of a target.
const None = "none"

// Rule says what [Parse] reads, as the end of a sentence that begins with "use".
const Rule = "targets with events, such as ops:dead_letter+policy,owner:ended"

// Parse reads subscriptions from a text: names of targets, separated by commas, each with a colon and its events, separated by
// plus signs. Without events it is Ended.
func Parse(text string) ([]Subscription, error) {
	var list []Subscription
	for part := range strings.SplitSeq(text, ",") {
		target, named, has := strings.Cut(part, ":")
		s := Subscription{Target: target}
		if has {
			for e := range strings.SplitSeq(named, "+") {
				s.Events = append(s.Events, Event(e))
			}
		}
		list = append(list, s)
	}
	if err := Check(list); err != nil {
		return nil, err
	}
	return list, nil
}

// Check returns what is wrong with subscriptions; nil for none.
func Check(list []Subscription) error {
	if len(list) > MaxSubscriptions {
		return fmt.Errorf("there are %d subscriptions, more than %d", len(list), MaxSubscriptions)
	}
	seen := make(map[string]bool, len(list))
	for _, s := range list {
		switch {
		case !ValidTarget(s.Target):
			return fmt.Errorf("%.70q is not the name of a target: use %s, of at most %d lower case letters, digits, underscores and hyphens, and not %s", s.Target, Rule, maxTarget, None)
		case seen[s.Target]:
			return fmt.Errorf("target %s is named twice: join its events with a plus sign", s.Target)
		}
		seen[s.Target] = true
		for _, e := range s.Events {
			if !slices.Contains(events, e) {
				return fmt.Errorf("target %s: %.50q is no event: use %s", s.Target, e, join(events))
			}
		}
	}
	return nil
}

// ValidTarget reports whether a target can have this name.
func ValidTarget(name string) bool {
	return name != "" && name != None && len(name) <= maxTarget && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// Has reports whether the target is notified of an event.
func (s Subscription) Has(e Event) bool {
	if len(s.Events) == 0 {
		return e.ends()
	}
	return slices.ContainsFunc(s.Events, func(named Event) bool {
		return named == e || named == Ended && e.ends() || named == Approval && e == Canary || named == DeadLetter && e == Late
	})
}

// ends reports whether a task ends with the event.
func (e Event) ends() bool {
	return e == Ended || e == Completed || e == Partial || e == DeadLetter || e == Late
}

// String returns the text that [Parse] reads.
func (s Subscription) String() string {
	if len(s.Events) == 0 {
		return s.Target
	}
	names := make([]string, len(s.Events))
	for i, e := range s.Events {
		names[i] = string(e)
	}
	return s.Target + ":" + strings.Join(names, "+")
}

func join(list []Event) string {
	words := make([]string, len(list))
	for i, e := range list {
		words[i] = string(e)
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
