package taskui

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/specform"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// startable is a kind of the registry, with the form of its specs.
type startable struct {
	info taskkit.KindInfo
	form *specform.Form
	// revision is another one after a change of the kind or of its schema: a form that was opened before is refused.
	revision string
}

// builtIn begins the names of the library's own kinds, whose tasks no form starts.
const builtIn = "taskkit_"

// newStartables returns the kinds of a registry by their names.
func newStartables(registry *taskkit.Registry) (map[string]*startable, error) {
	all := map[string]*startable{}
	for _, name := range registry.Kinds() {
		if strings.HasPrefix(name, builtIn) {
			continue
		}
		info, _ := registry.Info(name)
		schema := info.SpecSchema
		if schema == nil {
			schema = []byte(`{"description": "The spec as JSON."}`)
		}
		form, err := specform.New(schema)
		if err != nil {
			return nil, fmt.Errorf("read the schema of kind %s: %w", name, err)
		}
		sum := sha256.Sum256(schema)
		all[name] = &startable{info, form, strconv.Itoa(info.Revision) + "-" + hex.EncodeToString(sum[:6])}
	}
	return all, nil
}

// kindsView is the data of the page Kinds.
type kindsView struct{ Kinds []kindLine }

type kindLine struct {
	Name, Path, Text string
	Retired, Preview bool
}

// kinds reads the page Kinds.
func kinds(r *request) (any, error) {
	var v kindsView
	names := r.d.registry.Kinds()
	slices.Sort(names)
	for _, name := range names {
		kind, ok := r.d.kinds[name]
		if !ok {
			continue
		}
		info := kind.info
		text, _, _ := strings.Cut(info.Doc, "\n\n")
		v.Kinds = append(v.Kinds, kindLine{name, kindPath(name), text, info.Retired, info.Preview})
	}
	return v, nil
}

func kindPath(name string) string { return "kind/" + name }

// kindView is the data of the page of a kind.
type kindView struct {
	Name, Path string
	Doc        []string // paragraphs
	Revision   string
	Retired    bool
	MayStart   bool
	Notes      []string // what was left out of the form
	Problems   []string // of the spec as a whole
	Wrong      []wrongView
	Fields     []fieldView
	Secrets    bool   // some are entered on the next page
	Rest       string // the JSON of what no field has; "": nothing
	Hidden     []hiddenView
	Recent     []recentTask
}

// Title implements titled.
func (v kindView) Title() string { return v.Name }

// recentTask is a task of the kind, to repeat.
type recentTask struct {
	Task   *taskkit.Task
	Path   string
	Repeat string // "": the person may not see its spec
}

// errNoKind refuses a kind that the registry has not.
var errNoKind = &problem{
	status: http.StatusNotFound, title: "There is no such kind here", detail: "The program that serves the dashboard has not registered it.",
	remedy: "Choose one of the page Kinds, or start the task in the dashboard of the program that has the kind.",
}

// kindOf returns the kind that the path names.
func (r *request) kindOf() (*startable, error) {
	k := r.d.kinds[r.PathValue("name")]
	if k == nil {
		return nil, errNoKind
	}
	return k, nil
}

// fieldPrefix is before the names of fields in forms and links: f.letter.subject.
const fieldPrefix = "f."

// kind reads the page of a kind: its form is filled in by the link, or with the spec of the task that the parameter repeat names.
func kind(r *request) (any, error) {
	k, err := r.kindOf()
	if err != nil {
		return nil, err
	}
	in := &entered{values: fieldValues(r.URL.Query())}
	if len(in.values) == 0 {
		for f := range k.form.All() {
			if f.Default != "" {
				in.values[f.Name] = []string{f.Default}
			}
		}
	}
	var notes []string
	if names := k.form.Unknown(in.values); len(names) > 0 {
		notes = append(notes, "The link has values for fields that this kind does not have: "+strings.Join(names, ", ")+".")
	}
	for f := range k.form.All() {
		if isSecret(f) && in.values[f.Name] != nil {
			notes = append(notes, "Secrets are not taken from links: "+f.Name+".")
			delete(in.values, f.Name)
		}
	}
	if id := r.URL.Query().Get("repeat"); id != "" {
		more, err := r.repeat(k, in, id)
		if err != nil {
			return nil, err
		}
		notes = append(notes, more...)
	}
	return r.kindPage(k, in, notes)
}

// fieldValues returns the values of the fields of a form or a link.
func fieldValues(form url.Values) specform.Values {
	values := specform.Values{}
	for name, given := range form {
		if field, ok := strings.CutPrefix(name, fieldPrefix); ok {
			values[field] = given
		}
	}
	return values
}

// repeat fills a form in with the spec of a task, and returns what it could not.
func (r *request) repeat(k *startable, in *entered, of string) (notes []string, err error) {
	id, err := uuid.Parse(of)
	if err != nil || !r.operator() {
		return nil, errNoTask
	}
	t, err := r.d.client.Task(r.Context(), id)
	switch {
	case err != nil:
		return nil, err
	case !r.may(r.Context(), taskhttp.OpWatch, t) || t.Kind != k.info.Name && !slices.Contains(k.info.Aliases, t.Kind):
		return nil, errNoTask
	}
	values, omitted, lost, err := k.form.Values(t.SpecJSON)
	if err != nil {
		return []string{"The spec of the task cannot be shown in this form: " + err.Error()}, nil //nolint:nilerr // the page says it, with an empty form
	}
	in.values = values
	if len(omitted) > 0 {
		notes = append(notes, "Secrets are not repeated: "+strings.Join(omitted, ", ")+".")
	}
	if len(lost) > 0 {
		notes = append(notes, "The task has values that this form does not have, and they are left out: "+strings.Join(lost, ", ")+".")
	}
	if list := k.form.Targets; list != nil && t.Progress.Total > 0 && k.form.Count(list, t.SpecJSON) == 0 {
		notes = append(notes, "The targets of the task are not in its spec and are not repeated: it had "+count(t.Progress.Total)+".")
	}
	return notes, nil
}

// recentTasks is how many tasks of a kind its page offers to repeat.
const recentTasks = 5

// kindPage returns the data of the page of a kind.
func (r *request) kindPage(k *startable, in *entered, notes []string) (*kindView, error) {
	v := &kindView{
		Name: k.info.Name, Path: kindPath(k.info.Name), Revision: k.revision, Retired: k.info.Retired, MayStart: r.may(r.Context(), taskhttp.OpStart, nil),
		Notes: notes, Problems: in.problems.Of(""),
	}
	for paragraph := range strings.SplitSeq(k.info.Doc, "\n\n") {
		if paragraph != "" {
			v.Doc = append(v.Doc, paragraph)
		}
	}
	b := &fieldViews{in: in}
	v.Fields = b.all(k.form.Fields)
	v.Secrets, v.Wrong = b.secrets, b.wrong
	if rest := in.values[specform.Root]; len(rest) > 0 {
		v.Rest = rest[len(rest)-1]
	}
	for _, name := range []string{"reason", "at"} { // of the page of the button
		if value := r.PostForm.Get(name); value != "" {
			v.Hidden = append(v.Hidden, hiddenView{name, value})
		}
	}
	var err error
	v.Recent, err = r.recent(r.Context(), k)
	return v, err
}

// recent returns the last tasks of a kind that the person may see.
func (r *request) recent(ctx context.Context, k *startable) ([]recentTask, error) {
	found, _, err := r.tasks(ctx, taskkit.Filter{Kinds: []string{k.info.Name}, Limit: recentTasks})
	if err != nil {
		return nil, err
	}
	var all []recentTask
	for _, t := range found {
		one := recentTask{Task: t, Path: "task/" + t.ID.String()}
		if r.operator() {
			one.Repeat = kindPath(k.info.Name) + "?repeat=" + t.ID.String()
		}
		all = append(all, one)
	}
	return all, nil
}

// times are the forms in which a person enters a time; without a zone it is in UTC.
var times = []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"}

// parseTime reads a time that a person entered.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range times {
		if t, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
