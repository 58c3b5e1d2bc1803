package taskui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"taskkit.dev/taskkit/taskhttp"
)

// A page is one page of the dashboard. Its template is templates/NAME.html, which defines "main", and for each part that is read again while the page is
// open "live-PART": <div data-live="PART">{{template "live-PART" .}}</div>. Templates named part_*.html belong to all pages.
type page struct {
	path  string // below the prefix, as a pattern of http.ServeMux: "task/{id}"
	title string
	name  string // of the template
	nav   bool   // in the navigation, under its title
	// op is the operation of operators that the page needs; "": all who see tasks see the page.
	op taskhttp.Operation
	// get reads what the template has as .Data. If that has a method Title() string, it is the title.
	get func(r *request) (any, error)
}

// pages returns all pages, in the order of the navigation.
func pages() []page {
	return []page{
		{path: "", title: "Home", name: "home", nav: true, get: home},
		{path: "list", title: "Tasks", name: "list", nav: true, get: list},
		{path: "bulk", title: "Bulk", name: "bulk", nav: true, get: bulkOperations},
		{path: "bulk/{verb}", title: "Act on all that match", name: "bulkform", get: bulkForm},
		{path: "task/{id}", title: "Task", name: "task", get: showTask},
		{path: "task/{id}/items", title: "Items", name: "items", get: items},
		{path: "task/{id}/parts", title: "Parts", name: "parts", get: parts},
		{path: "task/{id}/{verb}", title: "Confirm", name: "confirm", get: confirm},
		{path: "kinds", title: "Kinds", name: "kinds", nav: true, get: kinds},
		kindPage,
		{path: "approvals", title: "Approvals", name: "approvals", nav: true, get: approvals},
		{path: "approvals/{id}", title: "Approval", name: "approval", get: approval},
		{path: "dead", title: "Dead letters", name: "dead", nav: true, op: taskhttp.OpReadDead, get: deadLetters},
		{path: "schedules", title: "Schedules", name: "schedules", nav: true, op: taskhttp.OpReadSchedules, get: schedules},
		{path: "queues", title: "Queues", name: "queues", nav: true, op: taskhttp.OpReadQueues, get: queues},
		{path: "limits", title: "Limits", name: "limits", nav: true, op: taskhttp.OpReadLimits, get: limits},
		{path: "workers", title: "Workers", name: "workers", nav: true, op: taskhttp.OpReadWorkers, get: workers},
		{path: "changes", title: "Changes", name: "changes", nav: true, op: taskhttp.OpReadChanges, get: changes},
		{path: "health", title: "Health", name: "health", nav: true, op: taskhttp.OpReadDoctor, get: health},
	}
}

// frame is what a template has.
type frame struct {
	Root    string // the relative path to the dashboard: links are {{.Root}}task/...
	Title   string // of the page
	Name    string // of the dashboard
	Nav     []navigation
	Person  string
	Query   string // in the field of the search
	Key     string // of the forms, see [sentForms]
	Said    string // what the request before this one has done
	Refresh int    // seconds, without a script; 0: never
	Style   string // paths of the assets
	Script  string
	Icon    string
	Data    any
}

type navigation struct {
	Path, Text string
	Here       bool
}

// titled is data of a page with a title of its own.
type titled interface{ Title() string }

// show answers with a page, or with the part of it that the parameter live names.
func (d *dashboard) show(r *request, p page) error {
	if p.op != "" && !r.mayOperate(r.Context(), p.op) {
		return errForbidden
	}
	data, err := p.get(r)
	if err != nil {
		return err
	}
	if part := r.URL.Query().Get("live"); part != "" {
		return d.part(r, p, part, data)
	}
	return d.render(r, http.StatusOK, p, data)
}

// render sends a page.
func (d *dashboard) render(r *request, status int, p page, data any) error {
	f := d.frame(r, p, data)
	var out bytes.Buffer
	if err := d.templates[p.name].ExecuteTemplate(&out, "page", f); err != nil {
		return fmt.Errorf("render the page %s: %w", p.name, err)
	}
	d.send(r, status, &out)
	return nil
}

// frame returns what a template has besides its data.
func (d *dashboard) frame(r *request, p page, data any) *frame {
	f := &frame{
		Root: r.root, Title: p.title, Name: d.config.Title, Person: r.who.display(), Key: r.key, Data: data,
		Style: d.assets.path("style.css"), Script: d.assets.path("live.js"), Icon: d.assets.path("icon.svg"), Said: said[r.URL.Query().Get("said")],
	}
	if p.path == "list" {
		f.Query = clean(strings.TrimSpace(r.URL.Query().Get("q")))
	}
	if t, ok := data.(titled); ok {
		f.Title = t.Title()
	}
	if n, err := strconv.Atoi(r.URL.Query().Get("refresh")); err == nil && n >= 2 && n <= 3600 {
		f.Refresh = n
	}
	for _, other := range d.pages {
		if other.nav && r.who.Level > None && (other.op == "" || r.mayOperate(r.Context(), other.op)) {
			f.Nav = append(f.Nav, navigation{other.path, other.title, other.path == p.path})
		}
	}
	return f
}

// part sends a part of a page, with an ETag. The key of the forms is new with each answer and does not count.
func (d *dashboard) part(r *request, p page, part string, data any) error {
	t := d.templates[p.name].Lookup("live-" + part)
	if t == nil {
		return errNoPage
	}
	f := d.frame(r, p, data)
	var out bytes.Buffer
	if err := t.Execute(&out, f); err != nil {
		return fmt.Errorf("render the part %s of the page %s: %w", part, p.name, err)
	}
	sum := sha256.Sum256(bytes.ReplaceAll(out.Bytes(), []byte(r.key), nil))
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	r.w.Header().Set("Etag", tag)
	if slices.Contains(strings.Split(r.Header.Get("If-None-Match"), ", "), tag) {
		r.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	d.send(r, http.StatusOK, &out)
	return nil
}

// send sends HTML. Of a client that is gone nothing is known.
func (*dashboard) send(r *request, status int, out *bytes.Buffer) {
	h := r.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(out.Len()))
	r.w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = out.WriteTo(r.w)
	}
}

//go:embed templates/*.html
var templateFiles embed.FS

// parseTemplates returns the templates of all pages, and of the page of errors, by name.
func parseTemplates(all []page) (map[string]*template.Template, error) {
	common, err := template.New("").Funcs(functions).ParseFS(templateFiles, "templates/layout.html", "templates/part_*.html")
	if err != nil {
		return nil, fmt.Errorf("parse the templates: %w", err)
	}
	found := map[string]*template.Template{}
	names := []string{problemPage.name, startPage.name}
	for _, p := range all {
		names = append(names, p.name)
	}
	for _, name := range names {
		if found[name] != nil {
			continue
		}
		t, err := common.Clone()
		if err == nil {
			t, err = t.ParseFS(templateFiles, "templates/"+name+".html")
		}
		if err != nil {
			return nil, fmt.Errorf("parse the template of the page %s: %w", name, err)
		}
		found[name] = t
	}
	return found, nil
}
