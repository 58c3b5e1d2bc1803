package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskkit.dev/cmd/taskkit/internal/database"
	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/internal/specform"
	"taskkit.dev/taskkit/taskhttp"
)

// authorizationEnv has the value of the header Authorization for --url. It is no flag, which other users of the machine
// could read.
const authorizationEnv = "TASKKIT_AUTHORIZATION"

const (
	// maxDocument bounds the OpenAPI document of an application.
	maxDocument = 32 << 20
	// readWithin is how long an application may take to send its OpenAPI document, and startWithin to start a task, with the
	// repetitions of the request.
	readWithin  = 30 * time.Second
	startWithin = 2 * time.Minute
)

// applicationFlags name an application that is reached over HTTP.
type applicationFlags struct {
	url     string
	headers []string
}

func (f *applicationFlags) add(flags *pflag.FlagSet, url string) {
	flags.StringVar(&f.url, "url", "", url)
	flags.StringArrayVar(&f.headers, "header", nil, "with --url: `header` of each request, such as \"X-Person: 01890a5d-...\"; may be repeated. "+authorizationEnv+" has that for Authorization")
}

// check refuses headers that no request has.
func (f *applicationFlags) check() error {
	if f.url == "" && len(f.headers) > 0 {
		return usage("--header needs --url")
	}
	return nil
}

// application is an application that starts tasks over HTTP.
type application struct {
	*taskhttp.Client

	header http.Header
	shown  string   // its address without a password
	names  []string // of the headers of the command

	readWithin, startWithin time.Duration // the constants
}

// application returns the application that the flags name.
func (f *applicationFlags) application() (*application, error) {
	at, err := url.Parse(f.url)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, usage("--url accepts an address like https://campus.example, not %q", screen.Clean(f.url))
	}
	at.Path = strings.TrimSuffix(strings.TrimSuffix(at.Path, "/"), "/jobs")
	app := &application{header: make(http.Header), shown: screen.Clean(at.Redacted()), readWithin: readWithin, startWithin: startWithin}
	if text := os.Getenv(authorizationEnv); text != "" {
		app.header.Set("Authorization", text)
	}
	for _, text := range f.headers {
		name, value, ok := strings.Cut(text, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, usage("--header accepts a header like \"X-Person: 01890a5d-...\", not %q", screen.Clean(text))
		}
		app.header.Add(name, strings.TrimSpace(value))
		app.names = append(app.names, screen.Clean(name))
	}
	app.Client = &taskhttp.Client{URL: at.String(), HTTP: &http.Client{CheckRedirect: onlyThere}, Prepare: func(r *http.Request) error {
		maps.Copy(r.Header, app.header)
		return nil
	}}
	return app, nil
}

// onlyThere is the CheckRedirect of requests of an application. They have headers with secrets, of which net/http withholds only
// Authorization from another host, and specs: a redirect that leaves the host, or HTTPS, is not followed.
func onlyThere(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) >= 10 || r.URL.Host != first.Host || first.Scheme == "https" && r.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	return nil
}

// flags returns the flags that name the same application. They do not repeat the values of headers, which may be secrets.
func (a *application) flags() string {
	var flags strings.Builder
	flags.WriteString(" --url " + database.Shell(a.shown))
	for _, name := range a.names {
		flags.WriteString(" --header " + database.Shell(name+": ..."))
	}
	return flags.String()
}

// document is what is read of the OpenAPI document of an application.
type document struct {
	Paths map[string]struct {
		Post struct {
			OperationID string `json:"operationId"`
			Description string `json:"description"`
			Summary     string `json:"summary"`
			Parameters  []struct {
				In   string `json:"in"`
				Name string `json:"name"`
			} `json:"parameters"`
		} `json:"post"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]json.RawMessage `json:"schemas"`
	} `json:"components"`
}

// document reads the OpenAPI document of an application, and returns its address.
func (a *application) document(ctx context.Context) (d document, at string, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.readWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+"/jobs/openapi.json", nil)
	if err != nil {
		return d, "", usage("--url: %v", err)
	}
	at = screen.Clean(r.URL.Redacted())
	if err := a.Prepare(r); err != nil {
		return d, at, err
	}
	resp, err := a.HTTP.Do(r)
	if err != nil {
		return d, at, fmt.Errorf("cannot reach the application: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return d, at, fmt.Errorf("%s answers %s: give the address of an application with package taskhttp, and with --header or %s who you are", at, resp.Status, authorizationEnv)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return d, at, fmt.Errorf("read %s: %w", at, err)
	case len(text) > maxDocument:
		return d, at, fmt.Errorf("%s is no OpenAPI document: it is larger than %d MiB", at, maxDocument>>20)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return d, at, fmt.Errorf("%s is no OpenAPI document: %w", at, err)
	}
	return d, at, nil
}

// kinds reads which kinds an application starts.
func (a *application) kinds(ctx context.Context) ([]*start, error) {
	d, at, err := a.document(ctx)
	if err != nil {
		return nil, err
	}
	// The definitions of the schemas are components.
	definitions, err := json.Marshal(d.Components.Schemas)
	if err != nil {
		return nil, err
	}
	inner := func(text []byte) []byte {
		return bytes.ReplaceAll(text, []byte(`"#/components/schemas/`), []byte(`"#/$defs/`))
	}
	var kinds []*start
	for path, operations := range d.Paths {
		o := operations.Post
		kind, starts := strings.CutPrefix(o.OperationID, "start_")
		schema := d.Components.Schemas[kind+"_Spec"]
		if !starts || schema == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(path, "/") { // it would be a part of the host
			return nil, fmt.Errorf("%s starts tasks of the kind %s at %q, which is not one of its paths", at, screen.Clean(kind), screen.Clean(path))
		}
		s := &start{kind: kind, doc: cmp.Or(o.Description, o.Summary), path: path}
		for _, p := range o.Parameters {
			s.preview = s.preview || p.In == "query" && p.Name == "preview"
		}
		var parts map[string]json.RawMessage
		if err := json.Unmarshal(inner(schema), &parts); err != nil {
			return nil, fmt.Errorf("%s has no schema of %s: %w", at, kind, err)
		}
		parts["$defs"] = inner(definitions)
		if schema, err = json.Marshal(parts); err != nil {
			return nil, err
		}
		s.schema = schema
		if s.form, err = specform.New(schema); err != nil {
			return nil, fmt.Errorf("%s has no schema of %s: %w", at, kind, err)
		}
		kinds = append(kinds, s)
	}
	slices.SortFunc(kinds, func(a, b *start) int { return strings.Compare(a.kind, b.kind) })
	return kinds, nil
}

// kind reads how an application starts tasks of a kind.
func (a *application) kind(ctx context.Context, kind string) (*start, error) {
	kinds, err := a.kinds(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(kinds))
	for i, s := range kinds {
		if s.kind == kind {
			return s, nil
		}
		names[i] = s.kind
	}
	return nil, usage("the application starts no tasks of a kind %s; it starts %s", screen.Clean(kind), cmp.Or(strings.Join(names, ", "), "none"))
}

// runElsewhere runs a task of a kind that the program has not got. Its arguments contain all flags.
func (a *App) runElsewhere(c *cobra.Command, args []string) error {
	var common runFlags
	known := &cobra.Command{}
	common.add(known)
	flags := known.Flags()
	flags.AddFlagSet(c.InheritedFlags())
	flags.ParseErrorsAllowlist = pflag.ParseErrorsAllowlist{UnknownFlags: true}
	help := flags.BoolP("help", "h", false, "")
	if err := flags.Parse(args); err != nil {
		return usage("%s: see `%s --help`", flagProblem(err), c.CommandPath())
	}
	kind := flags.Arg(0)
	switch {
	case *help && (kind == "" || common.url == "" && a.Registry == nil):
		new(runFlags).add(c) // of every kind
		return c.Help()
	case kind == "":
		return usage("no kind given: see `%s --help`", c.CommandPath())
	case common.url == "" && a.Registry == nil:
		return usage("this program has no kinds: name an application with --url, or run the program that has %s, see package taskkitcli", screen.Clean(kind))
	case common.url == "":
		return usage("there is no kind %s: the kinds are %s", screen.Clean(kind), strings.Join(a.Registry.Kinds(), ", "))
	}
	app, err := common.application()
	if err != nil {
		return err
	}
	s, err := app.kind(c.Context(), kind)
	if err != nil {
		return err
	}
	sub := a.startCommand(s)
	c.AddCommand(sub)
	i := slices.Index(args, kind)
	rest := slices.Delete(slices.Clone(args), i, i+1)
	if *help {
		return sub.Help()
	}
	if err := sub.ParseFlags(rest); err != nil {
		return usage("%s: see `%s --help`", flagProblem(err), sub.CommandPath())
	}
	if left := sub.Flags().Args(); len(left) > 0 {
		return noArgs(sub, left)
	}
	sub.SetContext(c.Context())
	sub.SetIn(c.InOrStdin())
	return a.start(sub, s)
}

// startElsewhere starts a task in an application.
func (a *App) startElsewhere(c *cobra.Command, s *start) error {
	f := s.runFlags
	for flag, given := range map[string]bool{"--at": !f.at.IsZero(), "--owner": f.owner.String() != "", "--by": f.by.String() != "", "--reason": f.reason != ""} {
		if given {
			return usage("%s goes with a database and not with --url: the application decides it", flag)
		}
	}
	app, err := f.application()
	if err != nil {
		return err
	}
	if s.path == "" { // the program has the kind, too
		there, err := app.kind(c.Context(), s.kind)
		if err != nil {
			return err
		}
		if f.preview && !there.preview {
			return usage("the application has no previews of the kind %s: leave --preview out", s.kind)
		}
		s.path = there.path
	}
	spec, err := s.spec(c.InOrStdin())
	if err != nil {
		return err
	}
	path := s.path
	if f.preview {
		path += "?preview=true"
	}
	job, err := app.startWithKey(c.Context(), path, f.key, spec)
	if refused, ok := errors.AsType[*taskhttp.Error](err); ok && len(refused.Errors) > 0 {
		lines := make([]string, len(refused.Errors))
		for i, e := range refused.Errors {
			lines[i] = e.Pointer + " " + e.Detail
		}
		return usage("the application refuses the spec of %s, and nothing was started\n%s", s.kind, strings.Join(lines, "\n"))
	}
	if err != nil {
		return err
	}
	if !f.wait {
		return a.print(job, func(w io.Writer) {
			fmt.Fprintln(w, a.named(screen.Text(fmt.Sprintf("task %s is started: %s/jobs/%s; follow it: taskkit watch %s%s", job.ID, app.shown, job.ID, job.ID, app.flags()))))
		})
	}
	return a.watchElsewhere(c.Context(), app, job.ID, job, f.timeout)
}

// startWithKey starts a task. The request always has a key, so that it can be repeated when its answer is lost.
func (a *application) startWithKey(ctx context.Context, path, key string, spec []byte) (*taskhttp.Job, error) {
	key = cmp.Or(key, uuid.NewString())
	limited, cancel := context.WithTimeout(ctx, a.startWithin)
	defer cancel()
	job, err := a.Start(limited, path, key, json.RawMessage(spec))
	if refused, ok := errors.AsType[*taskhttp.Error](err); err == nil || ok && refused.Status < http.StatusInternalServerError {
		return job, err
	}
	status := exitError
	if ctx.Err() != nil {
		status = exitInterrupted
	}
	return nil, &statusError{status, fmt.Sprintf("it is not known whether the task was started: %s\nThe same command with --key %s starts it at most once", screen.Short(err.Error(), 300), database.Shell(key))}
}
