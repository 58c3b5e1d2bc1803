package taskui

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/specform"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// The pages of a kind. The second is not among the pages: it is the answer to the form of the first.
var (
	kindPage  = page{path: "kind/{name}", title: "Kind", name: "kind", get: kind}
	startPage = page{path: "kind/{name}", title: "Start", name: "kindstart"}
)

// startView is the data of the page that starts a task: what was checked, and the button.
type startView struct {
	Name, Path, Revision string
	Checked              string // identifies what was checked
	Notes, Problems      []string
	Hidden               []hiddenView
	Summary              []summaryView
	Secrets              []fieldView
	Run, Preview         string // the buttons; no preview: ""
	Sentence             string
	Reason, At, AtError  string
	JSON                 string // the spec, if it is short
	Same                 sameView
	Link                 string // fills the form in; "": it would be too long
}

// Title implements titled.
func (v startView) Title() string { return "Start " + v.Name }

type hiddenView struct{ Name, Value string }

// summaryView is a field of what was checked.
type summaryView struct {
	Label, Text string
	More        string // what is not shown of it
}

// start answers to the form of a kind: it checks what was entered, and starts a task once it was checked and confirmed.
func (d *dashboard) start(r *request) error {
	k, err := r.kindOf()
	if err != nil {
		return err
	}
	if !r.may(r.Context(), taskhttp.OpStart, nil) {
		return errForbidden
	}
	r.long(uploadTime)
	err = parseUpload(r.w, r.Request)
	defer removeFiles(r.Request)
	if err != nil {
		return err
	}
	// The time of a page begins when its files have come.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), d.config.Timeout)
	defer cancel()
	r.Request = r.WithContext(ctx)
	in, err := r.enteredIn(k)
	if err != nil {
		return err
	}
	step := r.PostForm.Get("step")
	if opened := r.PostForm.Get("revision"); opened != "" && opened != k.revision {
		return d.changedForm(r, k, in)
	}
	if step == "edit" {
		in.problems = nil
		return d.form(r, k, in, http.StatusOK, nil)
	}
	draft, problems := k.form.Draft(in.values)
	in.add(problems)
	if len(in.problems) > 0 {
		return d.form(r, k, in, http.StatusUnprocessableEntity, nil)
	}
	if step == "spec" {
		r.w.Header().Set("Content-Disposition", `attachment; filename="spec.json"`)
		r.w.Header().Set("Content-Type", "application/json")
		_, _ = r.w.Write(draft)
		return nil
	}
	if step != "run" && step != "preview" {
		if in.problems, err = d.tried(ctx, k, in); err != nil {
			return err
		}
		if len(in.problems) > 0 {
			return d.form(r, k, in, http.StatusUnprocessableEntity, nil)
		}
		return d.confirm(r, k, in, draft, http.StatusOK, nil)
	}
	if checked := r.PostForm.Get("checked"); checked != "" && checked != checkedSum(k, draft) {
		return d.confirm(r, k, in, draft, http.StatusConflict, []string{"What was sent is not what was checked: check it again."})
	}
	return d.submit(r, k, in, draft, step == "preview")
}

// add adds what is wrong with texts to what is wrong with files.
func (e *entered) add(problems specform.Problems) {
	for _, p := range problems {
		if e.tables[p.Field] == nil {
			e.problems = append(e.problems, p)
		}
	}
}

// form answers with the page of a kind.
func (d *dashboard) form(r *request, k *startable, in *entered, status int, notes []string) error {
	v, err := r.kindPage(k, in, notes)
	if err != nil {
		return err
	}
	return d.render(r, status, kindPage, v)
}

// changedForm answers to a form that was opened before the kind has changed: with the present form and what was entered.
func (d *dashboard) changedForm(r *request, k *startable, in *entered) error {
	notes := []string{"The kind has changed since you opened the form, so nothing was started. What you entered is below: check it and send it again."}
	for _, name := range k.form.Unknown(in.values) {
		notes = append(notes, fmt.Sprintf("The field %s is gone. You entered: %s", clean(name), clean(shorten(strings.Join(in.values[name], ", "), 1000))))
	}
	_, problems := k.form.Draft(in.values)
	in.add(problems)
	return d.form(r, k, in, http.StatusConflict, notes)
}

// checkedSum identifies a spec without its secrets, and the form in which it was entered.
func checkedSum(k *startable, draft []byte) string {
	sum := sha256.Sum256(append([]byte(k.revision+"\n"), draft...))
	return hex.EncodeToString(sum[:12])
}

// confirm answers with the page that shows what was checked and starts the task.
func (d *dashboard) confirm(r *request, k *startable, in *entered, draft []byte, status int, notes []string) error {
	v := startView{
		Name: k.info.Name, Path: kindPath(k.info.Name), Revision: k.revision, Checked: checkedSum(k, draft), Notes: notes, Problems: in.problems.Of(""),
		Reason: r.PostForm.Get("reason"), At: r.PostForm.Get("at"),
	}
	for _, f := range slices.Sorted(maps.Keys(in.read)) {
		v.Notes = append(v.Notes, in.read[f])
	}
	if k.info.Retired {
		v.Problems = append(v.Problems, "The kind is retired and takes no new tasks.")
	}
	for _, name := range slices.Sorted(maps.Keys(in.values)) {
		for _, value := range in.values[name] {
			if f := k.form.Field(name); f == nil || !isSecret(f) {
				v.Hidden = append(v.Hidden, hiddenView{fieldPrefix + name, value})
			}
		}
	}
	b := &fieldViews{in: in, entry: true}
	for _, f := range secretFields(k.form.Fields) {
		v.Secrets = append(v.Secrets, b.one(f))
	}
	if at := strings.TrimSpace(v.At); at != "" {
		if _, ok := parseTime(at); !ok {
			v.AtError = "must be a time, such as 2026-07-01 09:00"
		}
	}
	values, _, _, err := k.form.Values(draft)
	if err != nil {
		return err
	}
	v.Summary = summary(k.form, values)
	v.Run, v.Preview, v.Sentence = buttons(k, draft)
	if len(draft) <= maxShown {
		v.JSON = readable(draft)
	}
	v.Same = same(r, k, values, draft)
	if link := kindPath(k.info.Name) + "?" + linkQuery(values); len(link) < maxLink {
		v.Link = link
	}
	if v.AtError != "" || len(v.Problems) > 0 && status == http.StatusOK {
		status = http.StatusUnprocessableEntity
	}
	return d.render(r, status, startPage, v)
}

const (
	maxShown = 20_000 // of a spec as JSON
	maxLink  = 2000
)

func linkQuery(values specform.Values) string {
	q := url.Values{}
	for name, given := range values {
		q[fieldPrefix+name] = given
	}
	return q.Encode()
}

// buttons returns the texts of the buttons, which say on how many targets the task would run, and what else there is to know of them.
func buttons(k *startable, draft []byte) (run, preview, sentence string) {
	run, preview = "Run", "Preview"
	list := k.form.Targets
	switch n := k.form.Count(list, draft); {
	case list == nil:
	case n > 0:
		on := fmt.Sprintf(" on %s %s", count(int64(n)), strings.ToLower(list.Label))
		run, preview = run+on, preview+on
	default:
		sentence = "The targets are not listed: the task finds them when it starts."
	}
	if !k.info.Preview {
		preview = ""
	} else if sentence != "" {
		sentence += " A preview shows how many they are."
	}
	return run, preview, sentence
}

// summary returns the fields of what was checked.
func summary(form *specform.Form, values specform.Values) (lines []summaryView) {
	groups := map[string]string{}
	for f := range form.All() {
		label := f.Label
		if i := strings.LastIndexByte(f.Pointer, '/'); i > 0 {
			if group := groups[f.Pointer[:i]]; group != "" {
				label = group + ", " + strings.ToLower(label)
			}
		}
		groups[f.Pointer] = label
		given := strings.Join(values[f.Name], "\n")
		if f.Type == specform.Group && given == "" {
			continue
		}
		if given == "" {
			continue
		}
		line := summaryView{Label: label, Text: clean(given)}
		const mostLines, most = 10, 1000
		if n := strings.Count(given, "\n") + 1; f.Type == specform.List && n > mostLines {
			first := strings.SplitN(line.Text, "\n", mostLines+1)
			line.Text, line.More = strings.Join(first[:mostLines], "\n"), "and "+count(int64(n-mostLines))+" more"
		}
		if short := shorten(line.Text, most); short != line.Text {
			line.Text, line.More = short, cmp.Or(line.More, "and more")
		}
		lines = append(lines, line)
	}
	return lines
}

// tried returns what the kind itself refuses of a spec, such as fields that do not go together: it submits a task and rolls back. A spec with
// secrets is not complete before the page of the button, and is not tried. What else is refused is found by the button, which has the options of
// Config.Start.
func (d *dashboard) tried(ctx context.Context, k *startable, in *entered) (specform.Problems, error) {
	if k.info.Retired || len(secretFields(k.form.Fields)) > 0 {
		return nil, nil
	}
	spec, problems := k.form.Parse(in.values)
	if len(problems) > 0 {
		return problems, nil
	}
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	_, err = d.registry.SubmitJSON(ctx, tx, k.info.Name, spec, taskkit.System(), taskkit.WithSchema(d.schema))
	if refused, ok := errors.AsType[*taskkit.SpecError](err); ok && !isAs[*taskkit.UsageError](refused.Err) {
		return specProblems(k.form, refused), nil
	}
	return nil, nil
}

// submit starts a task, once for each key of a form. The key is kept with the task: another process that gets the form again finds the task.
func (d *dashboard) submit(r *request, k *startable, in *entered, draft []byte, preview bool) error {
	spec, problems := k.form.Parse(in.values)
	if in.problems = problems; len(problems) > 0 {
		return d.confirm(r, k, in, draft, http.StatusUnprocessableEntity, nil)
	}
	key := r.PostForm.Get("key")
	if key == "" || len(key) > 100 {
		return &problem{status: http.StatusBadRequest, title: "The form has no key", remedy: "Open the page again and send its form."}
	}
	opts, problem := r.startOptions(key, preview)
	if problem != "" {
		in.problems = specform.Problems{{Text: problem}}
		return d.confirm(r, k, in, draft, http.StatusUnprocessableEntity, nil)
	}
	once := strings.Join([]string{r.who.ID.String(), r.URL.Path, key, fmt.Sprint(preview)}, "\n")
	to, err := d.sent.once(r.Context(), once, func() (string, error) {
		if d.config.Start != nil {
			more, err := d.config.Start(r.Context(), r.who, k.info.Name)
			if err != nil {
				return "", err
			}
			opts = append(opts, more...)
		}
		id, err := d.registry.SubmitJSON(r.Context(), d.db, k.info.Name, spec, opts...)
		if taken, ok := errors.AsType[*taskkit.DuplicateError](err); ok && taken.By == "idempotency key" && taken.ID != uuid.Nil {
			return "task/" + taken.ID.String(), nil
		}
		if err != nil {
			return "", err
		}
		d.config.Logger.InfoContext(r.Context(), "a change was made in the dashboard", "operation", taskhttp.OpStart, "person", r.who.ID, "path", r.URL.Path, "reason", strings.TrimSpace(r.PostForm.Get("reason")), "task", id)
		return "task/" + id.String() + "?said=started", nil
	})
	if refused, ok := errors.AsType[*taskkit.SpecError](err); ok && !isAs[*taskkit.UsageError](refused.Err) {
		in.problems = specProblems(k.form, refused)
		if in.hasSecretsOnly(k.form) {
			return d.confirm(r, k, in, draft, http.StatusUnprocessableEntity, nil)
		}
		return d.form(r, k, in, http.StatusUnprocessableEntity, nil)
	}
	if err != nil {
		return err
	}
	r.w.Header().Set("Location", r.root+to)
	r.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// isSecret reports whether a field is entered on the page of the button, and never shown again.
func isSecret(f *specform.Field) bool { return f.HasSecrets && (f.Type != specform.Group || f.Secret) }

// secretFields returns the secrets, without the fields of a group that is one.
func secretFields(fields []*specform.Field) (all []*specform.Field) {
	for _, f := range fields {
		if isSecret(f) {
			all = append(all, f)
			continue
		}
		all = append(all, secretFields(f.Fields)...)
	}
	return all
}

// hasSecretsOnly reports whether all problems are with fields that the page of the button has.
func (e *entered) hasSecretsOnly(form *specform.Form) bool {
	return !slices.ContainsFunc(e.problems, func(p specform.Problem) bool {
		f := form.Field(p.Field)
		return f == nil || !isSecret(f)
	})
}

// startOptions returns the options of the submission. The problem is what is wrong with a field of the page.
func (r *request) startOptions(key string, preview bool) (opts []taskkit.SubmitOption, problem string) {
	owner := cmp.Or(r.who.ID, taskkit.SystemOwner)
	reason := strings.TrimSpace(r.PostForm.Get("reason"))
	if len([]rune(reason)) > maxReason || strings.ContainsRune(reason, 0) {
		return nil, "The reason is too long, or has a character that cannot be stored: it may have 1,000 characters."
	}
	opts = append(
		r.submission(reason), taskkit.OwnedBy(owner), taskkit.WithSchema(r.d.schema),
		taskkit.WithIdempotencyKey(fmt.Sprintf("dashboard %s %s %t", owner, key, preview)),
	)
	if preview {
		opts = append(opts, taskkit.WithPreview())
	}
	if at := strings.TrimSpace(r.PostForm.Get("at")); at != "" {
		t, ok := parseTime(at)
		if !ok {
			return nil, "The time of the start must be a time, such as 2026-07-01 09:00."
		}
		opts = append(opts, taskkit.WithNotBefore(t))
	}
	return opts, ""
}

// specProblems returns what the rules of the spec refuse, beside its fields.
func specProblems(form *specform.Form, refused *taskkit.SpecError) (all specform.Problems) {
	for _, e := range refused.Fields {
		p := specform.Problem{Pointer: e.Pointer, Text: e.String()}
		if f := form.Within(e.Pointer); f != nil {
			p.Field = f.Name
			p.Text = strings.TrimPrefix(strings.TrimPrefix(p.Text, f.Pointer), " ")
		}
		p.Text = clean(p.Text)
		all = append(all, p)
	}
	if refused.Omitted > 0 {
		all = append(all, specform.Problem{Text: "There are " + count(int64(refused.Omitted)) + " more problems."})
	}
	if refused.Err != nil {
		all = append(all, specform.Problem{Text: plain(refused.Err)})
	}
	return all
}
