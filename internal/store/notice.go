package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/taskkit/notice"
)

// SystemOwner is the owner of tasks that no person submitted.
var SystemOwner = uuid.UUID{6: 0x80, 8: 0x80, 10: 's', 11: 'y', 12: 's', 13: 't', 14: 'e', 15: 'm'}

// noticeRevision is the revision of [notice.Notice] as the spec of a task.
const noticeRevision = 1

// NoticeTask returns the task that delivers a notification. It is in the queue of the task that the notification is about, and
// goes before other tasks there. With a key there is one task of it.
func NoticeTask(n notice.Notice, key string) (NewTask, error) {
	spec, err := json.Marshal(n)
	if err != nil {
		return NewTask{}, fmt.Errorf("encode the notification of task %s: %w", n.Task, err)
	}
	return NewTask{
		Submitted: Submitted{
			Kind: notice.Kind, Owner: SystemOwner, RunAs: SystemOwner, Queue: n.Queue, Follows: n.Task, IdempotencyKey: key,
		},
		ID: NewID(), Revision: noticeRevision, Spec: spec, Priority: 1, Total: -1,
	}, nil
}

// Notifies reports whether the task has subscriptions. False for nil.
func (o *Options) Notifies() bool { return o != nil && len(o.Notify) > 0 }

// NotifiesOf reports whether a subscription of the task has an event. False for nil.
func (o *Options) NotifiesOf(e notice.Event) bool {
	if o == nil {
		return false
	}
	for _, s := range o.Notify {
		if s.Has(e) {
			return true
		}
	}
	return false
}

// PauseEvent is the event of a task that its conditions pause at a progress.
func PauseEvent(c lifecycle.Conditions, at lifecycle.Progress) notice.Event {
	switch {
	case !c.AwaitsApproval(at):
		return notice.Policy
	case c.Canary > 0:
		return notice.Canary
	}
	return notice.Approval
}

// awaiting stores a notification for each of the tasks that wait for approval before their first batch.
func (i *inserter) awaiting(ctx context.Context, tasks []*NewTask) error {
	var notices []*NewTask
	for _, t := range tasks {
		if !t.Options.NotifiesOf(notice.Approval) || t.control() == "" {
			continue
		}
		for _, s := range t.Options.Notify {
			if !s.Has(notice.Approval) {
				continue
			}
			made, err := NoticeTask(notice.Notice{
				Event: notice.Approval, Target: s.Target, Task: t.ID, Kind: t.Kind, Queue: t.Queue, Owner: t.Owner,
				Status: string(lifecycle.Queued), Total: max(t.Total, 0), Preview: t.Options.Preview, At: time.Now().UTC(),
			}, "")
			if err != nil {
				return err
			}
			notices = append(notices, &made)
		}
	}
	for len(notices) > 0 {
		n := fit(notices)
		if err := i.many(ctx, notices[:n]); err != nil {
			return err
		}
		notices = notices[n:]
	}
	return nil
}
