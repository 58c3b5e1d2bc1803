package taskui

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// operatorForm is the form of an action of the pages of operators. What the action changes is in hidden fields and not in the path, since
// keys of limits have slashes.
type operatorForm struct {
	ID       string // of its elements
	Path     string // of the action, below the dashboard
	Button   string
	Text     string // what the action does
	Hidden   []field
	Fields   []field
	Destroys bool
}

// newForm returns the form of an action for what these hidden fields name.
func newForm(path, button, text string, hidden ...field) operatorForm {
	var names []string
	for _, f := range hidden {
		names = append(names, f.Value)
	}
	return operatorForm{ID: elementID(append(names, path)...), Path: path, Button: button, Text: text, Hidden: hidden}
}

// with adds inputs to the form.
func (f operatorForm) with(fields ...field) operatorForm {
	f.Fields = append(f.Fields, fields...)
	return f
}

// destroying makes the reason of the form required.
func (f operatorForm) destroying() operatorForm {
	f.Destroys = true
	return f
}

// hidden returns a hidden field. It is escaped, since browsers change the line ends of what they send; [request.named] reads it.
func hidden(name, value string) field {
	return field{Name: "of-" + name, Value: url.QueryEscape(value)}
}

// named returns what a form names: by a hidden field, or by an input of the same name.
func (r *request) named(name string) (string, error) {
	value := strings.TrimSpace(r.PostForm.Get(name))
	if r.PostForm.Has("of-" + name) {
		var err error
		if value, err = url.QueryUnescape(r.PostForm.Get("of-" + name)); err != nil {
			value = ""
		}
	}
	if value == "" {
		return "", &problem{status: http.StatusUnprocessableEntity, title: "The form does not say what to change", detail: "The field " + name + " is empty.", remedy: "Go back and fill it in."}
	}
	return value, nil
}

// elementID returns an id for elements about what has these names, whatever is in them.
func elementID(names ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(names, "\x00")))
	return "f" + hex.EncodeToString(sum[:8])
}

// operatorActions returns the actions of the pages of operators, and of the page Approvals.
func operatorActions() []action {
	return slices.Concat(queueActions(), limitActions(), scheduleActions(), approvalActions(), deadActions(), workerActions())
}

// changing returns the function of an action that changes what a field of its form names.
func changing(field, to, saying string, call func(*taskops.Operator, context.Context, string, ...taskkit.RequestOption) error) func(*request, string) (string, string, error) {
	return func(r *request, reason string) (string, string, error) {
		name, err := r.named(field)
		if err != nil {
			return "", "", err
		}
		return to, saying, call(r.d.ops, r.Context(), name, r.audit(reason)...)
	}
}

// byWhom says who has done something, when and why.
func (r *request) byWhom(done string, by uuid.UUID, at time.Time, reason string) string {
	text := done + " " + ago(at)
	if by != uuid.Nil {
		text += " by " + r.personName(by)
	}
	if reason != "" {
		text += ": " + clean(reason)
	}
	return text
}

// after returns the place from which a page of a list is read, "" for the first page.
func (r *request) after() (string, error) {
	const most = 1000
	after := r.URL.Query().Get("after")
	if len(after) > most {
		return "", errNoPage
	}
	return after, nil
}

// nextPath returns the path of the next page of a list.
func nextPath(page, after string) string { return page + "?" + url.Values{"after": {after}}.Encode() }
