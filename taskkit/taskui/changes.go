package taskui

import (
	"net/url"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

const changesOfPage = 50

// changesView is the data of the page Changes.
type changesView struct {
	Settings []tab
	Name     string // of which the changes are; "": of all
	All      string // the path of all changes of the setting, if the page is about one name
	Changes  []changeView
	Next     string
}

type changeView struct {
	taskops.SettingChange

	Person string
	Path   string // of all changes of what was changed
}

// changes reads the page Changes: who has changed queues, limits and schedules, and why.
func changes(r *request) (any, error) {
	query := r.URL.Query()
	f := taskops.ChangeFilter{Setting: taskops.Setting(query.Get("setting")), Name: query.Get("name"), Limit: changesOfPage + 1}
	if len(f.Name) > 1000 {
		return nil, errNoPage
	}
	v := &changesView{Name: clean(f.Name)}
	if text := query.Get("before"); text != "" {
		var err error
		if f.Before, err = uuid.Parse(text); err != nil {
			return nil, errNoPage
		}
	}
	known := false
	for _, s := range []struct {
		setting taskops.Setting
		text    string
	}{{"", "All"}, {taskops.SettingQueue, "Queues"}, {taskops.SettingLimit, "Limits"}, {taskops.SettingSchedule, "Schedules"}} {
		here := s.setting == f.Setting
		known = known || here
		v.Settings = append(v.Settings, tab{Text: s.text, Path: changesPath(s.setting, "", taskkit.ID{}), Here: here})
	}
	if !known {
		return nil, errNoPage
	}
	if f.Name != "" {
		v.All = changesPath(f.Setting, "", taskkit.ID{})
	}
	found, err := r.d.ops.SettingChanges(r.Context(), f)
	if err != nil {
		return nil, err
	}
	if len(found) > changesOfPage {
		found = found[:changesOfPage]
		v.Next = changesPath(f.Setting, f.Name, found[changesOfPage-1].ID)
	}
	for _, c := range found {
		v.Changes = append(v.Changes, changeView{c, r.personName(c.Actor), changesPath(c.Setting, c.Name, taskkit.ID{})})
	}
	return v, nil
}

// changesPath returns the path of the changes of a setting, of a name, that are older than this one. Zero values do not filter.
func changesPath(s taskops.Setting, name string, before taskkit.ID) string {
	query := url.Values{}
	if s != "" {
		query.Set("setting", string(s))
	}
	if name != "" {
		query.Set("name", name)
	}
	if before != (taskkit.ID{}) {
		query.Set("before", before.String())
	}
	if len(query) == 0 {
		return "changes"
	}
	return "changes?" + query.Encode()
}
