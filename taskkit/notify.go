package taskkit

import (
	"fmt"

	"taskkit.dev/taskkit/notice"
)

// WithNotifications notifies a target of events of the task. The target is named in tasknotify.Config, whose package delivers notifications
// by webhook and mail. Without events it is notified of the end, see [notice.Ended]. A second WithNotifications adds a target; for a target of the
// kind (notify= in the directive) it replaces the events.
//
// A notification is a task of its own, which is stored in the transaction in which the event happens: the one that ends the
// task, pauses it or stores it. So there is exactly one for each event and target, whatever is killed. Of a task in buckets, ranges or
// stages the whole task notifies, and no part of it. A task that is deleted has no notification.
//
// It is an *[OptionError] for an unknown event, for a name that no target can have, with [WithCoalescing], with [WithParent] and for
// a stage. Other tasks pay nothing for it.
func WithNotifications(target string, events ...notice.Event) SubmitOption {
	return submitOption(func(s *submission) {
		sub := notice.Subscription{Target: target, Events: events}
		if err := notice.Check([]notice.Subscription{sub}); err != nil {
			s.fail("WithNotifications", err.Error())
		}
		s.notify = append(s.notify, sub)
	})
}

// setNotify sets the subscriptions of a task that is no part of another: the subscriptions of its kind, and its own.
func (s *submission) setNotify(kind []notice.Subscription) {
	var list []notice.Subscription
	at := make(map[string]int)
	for _, of := range [][]notice.Subscription{kind, s.notify} {
		for _, sub := range of {
			if i, ok := at[sub.Target]; ok {
				list[i] = sub
				continue
			}
			at[sub.Target] = len(list)
			list = append(list, sub)
		}
	}
	switch {
	case len(s.notify) == 0:
	case s.NewTask.Kind == notice.Kind:
		s.fail("WithNotifications", "used for a notification, which has none itself: leave the option out")
	case s.Reference != "":
		s.fail("WithNotifications", "used together with WithCoalescing: a waiting task with notifications cannot be replaced")
	}
	if err := notice.Check(list); err != nil && len(s.errs) == 0 {
		s.fail("WithNotifications", err.Error())
	}
	if len(kind) > 0 && s.Reference != "" {
		s.fail("WithCoalescing", fmt.Sprintf("used for kind %s, which has notifications (notify= in its directive, or taskgen -notify): a waiting task with notifications cannot be replaced; notify=none is a kind without", s.NewTask.Kind))
	}
	s.Options.Notify = list
}

// notifyOfChild refuses subscriptions of a child: its parent has the subscriptions of the whole.
func (s *submission) notifyOfChild() error {
	if len(s.notify) == 0 {
		return nil
	}
	return &OptionError{"WithNotifications", "used together with WithParent: give the option to the parent, which notifies for all of its children"}
}

// parseNotify reads the subscriptions of a kind.
func parseNotify(text string) ([]notice.Subscription, error) {
	if text == "" {
		return nil, nil
	}
	return notice.Parse(text)
}
