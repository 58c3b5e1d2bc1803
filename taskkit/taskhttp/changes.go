package taskhttp

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// SettingChange is one change of a queue, a limit or a schedule, see [taskops.SettingChange].
type SettingChange struct {
	ID      taskkit.ID      `json:"id"`
	At      time.Time       `json:"at"`
	Setting taskops.Setting `json:"setting"`
	Name    string          `json:"name"` // the key of a limit
	Action  string          `json:"action"`
	Actor   uuid.UUID       `json:"actor,omitzero"`
	Reason  string          `json:"reason,omitempty"`
	From    string          `json:"from,omitempty"` // missing: there was none
	To      string          `json:"to,omitempty"`   // missing: there is none any more
}

// ChangePage is a page of the changes, newest first.
type ChangePage struct {
	Changes []SettingChange `json:"changes"`
	// Next is the cursor of the next page; "": there is none.
	Next string `json:"next,omitempty"`
}

// listChanges sends a page of the changes of settings.
func (s *Server) listChanges(w http.ResponseWriter, r *http.Request, _ Caller) error {
	q, err := query(r, "setting", "name", "limit", "cursor")
	if err != nil {
		return err
	}
	f := taskops.ChangeFilter{Setting: taskops.Setting(q["setting"]), Name: q["name"]}
	switch _, given := q["setting"]; {
	case given && f.Setting != taskops.SettingQueue && f.Setting != taskops.SettingLimit && f.Setting != taskops.SettingSchedule:
		return ErrBadParameter.because("setting must be queue, limit or schedule")
	case !utf8.ValidString(f.Name) || strings.ContainsRune(f.Name, 0):
		return ErrBadParameter.because("name must be of a queue or a schedule, or the key of a limit")
	}
	if f.Limit, err = q.size(); err != nil {
		return err
	}
	if text, given := q["cursor"]; given {
		if f.Before, err = uuid.Parse(text); err != nil {
			return ErrBadParameter.because("cursor must be the one of the page before")
		}
	}
	found, err := s.ops.SettingChanges(r.Context(), f)
	if err != nil {
		return err
	}
	page := ChangePage{Changes: []SettingChange{}}
	for _, c := range found {
		page.Changes = append(page.Changes, SettingChange{c.ID, c.Created.UTC(), c.Setting, c.Name, c.Action, c.Actor, c.Reason, c.From, c.To})
	}
	if len(found) == f.Limit {
		page.Next = found[f.Limit-1].ID.String()
		s.nextPage(w, r, page.Next)
	}
	writeJSON(w, http.StatusOK, mediaJSON, page)
	return nil
}
