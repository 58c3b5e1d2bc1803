package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// settingChanges: what changes a queue, a limit or a schedule is an event, and what changes nothing is none.
func settingChanges(e *env) {
	ann, bob := uuid.New(), uuid.New()
	change := func(by uuid.UUID, reason string, f func(s *store.Schedule)) {
		e.Helper()
		_, err := e.s.ChangeSchedule(e.ctx(), "nightly", func(_ time.Time, s *store.Schedule) error {
			f(s)
			s.ModifiedBy, s.ChangeReason = by, reason
			return nil
		})
		e.ok(err)
	}
	pause := func(by uuid.UUID, paused bool) {
		e.Helper()
		e.pauseQueue("mail", paused, by, "because")
	}
	pause(bob, false) // it is open
	pause(ann, true)
	pause(bob, true)
	pause(bob, false)
	e.ok(e.s.SetLimit(e.ctx(), "k", 0, bob, ""))
	e.ok(e.s.SetLimit(e.ctx(), "k", 2, ann, ""))
	e.ok(e.s.SetLimit(e.ctx(), "k", 2, bob, ""))
	e.ok(e.s.SetLimit(e.ctx(), "k", 3, bob, "more\xff"))
	e.ok(e.s.SetLimit(e.ctx(), "k", 0, ann, ""))
	change(ann, "new", func(s *store.Schedule) {
		s.Kind, s.Spec, s.Revision, s.Cron, s.Zone, s.Priority, s.Misfire = kind, json.RawMessage(`{"a":1}`), 1, "0 2 * * *", "UTC", 2, "once"
		s.Owner, s.RunAs = uuid.Max, uuid.Max
	})
	change(bob, "later", func(s *store.Schedule) { s.Cron, s.Spec = "0 3 * * *", json.RawMessage(`{"a":2}`) })
	change(ann, "holiday", func(s *store.Schedule) { s.Paused, s.PausedBy, s.PauseReason = true, ann, "holiday" })
	change(bob, "", func(s *store.Schedule) { s.Triggered = true })
	change(ann, "", func(s *store.Schedule) { s.LastError = "it cannot be decoded" }) // no person sets that
	change(ann, "over", func(s *store.Schedule) { s.Paused, s.PausedBy, s.PauseReason = false, uuid.Nil, "" })
	e.ok(e.s.DeleteSchedule(e.ctx(), "nightly", bob, "unused"))
	if err := e.s.DeleteSchedule(e.ctx(), "nightly", bob, "unused"); err == nil {
		e.Error("a schedule was deleted twice")
	}

	list := func(f store.SettingFilter) (text string) {
		e.Helper()
		found, err := e.s.SettingChanges(e.ctx(), f)
		e.ok(err)
		for _, c := range slices.Backward(found) {
			is(e, "has a time", c.Created.IsZero(), false)
			text += fmt.Sprintf("%s %s %s by %s %q: %s -> %s\n", c.Setting, c.Name, c.Action, map[uuid.UUID]string{ann: "ann", bob: "bob"}[c.Actor], c.Reason, c.From, c.To)
		}
		return text
	}
	queues := `queue mail pause by ann "because": open -> paused
queue mail resume by bob "because": paused -> open
`
	limits := `limit k set by ann "":  -> 2
limit k set by bob "more�": 2 -> 3
limit k remove by ann "": 3 -> 
`
	of := `"kind":"demo","misfire":"once","overlap":"allow","owner":"ffffffff-ffff-ffff-ffff-ffffffffffff","priority":2,"revision":1,"run_as":"ffffffff-ffff-ffff-ffff-ffffffffffff",`
	schedules := `schedule nightly set by ann "new":  -> {"cron":"0 2 * * *",` + of + `"zone":"UTC"}
schedule nightly set by bob "later": {"cron":"0 2 * * *"} -> {"cron":"0 3 * * *","spec":"changed"}
schedule nightly pause by ann "holiday": {} -> {"paused":true}
schedule nightly trigger by bob "": {} -> {"triggered":true}
schedule nightly resume by ann "over": {"paused":true} -> {}
schedule nightly delete by bob "unused": {"cron":"0 3 * * *",` + of + `"triggered":true,"zone":"UTC"} -> 
`
	is(e, "changes", list(store.SettingFilter{}), queues+limits+schedules)
	is(e, "changes of limits", list(store.SettingFilter{Setting: store.SettingLimit, Name: "k"}), limits)
	is(e, "changes of another name", list(store.SettingFilter{Setting: store.SettingLimit, Name: "mail"}), "")
	page, err := e.s.SettingChanges(e.ctx(), store.SettingFilter{Setting: store.SettingLimit, Limit: 2})
	e.ok(err)
	is(e, "length of the page", len(page), 2)
	page, err = e.s.SettingChanges(e.ctx(), store.SettingFilter{Setting: store.SettingLimit, Limit: 2, Before: page[1].ID})
	e.ok(err)
	is(e, "length of the last page", len(page), 1)
	is(e, "the first change", page[0].To, "2")
}
