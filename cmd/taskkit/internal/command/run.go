package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/internal/specform"
	"taskkit.dev/taskkit"
)

// runName is the name of the command that starts tasks.
const runName = "run"

// runFlags are the flags of run, of every kind.
type runFlags struct {
	submitFlags
	applicationFlags

	file    string
	csv     string
	preview bool
	at      startFlag
	key     string
	owner   personFlag
	wait    bool
	timeout time.Duration
}

func (f *runFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.SortFlags = false
	f.applicationFlags.add(flags, "start the task in the application at this `URL`, over HTTP, instead of in a database")
	flags.StringVar(&f.file, "file", "", "`file` with the spec as JSON, or - for the standard input; flags replace its fields")
	flags.StringVar(&f.csv, "csv", "", "`file` with the list of targets, or -: the only column, or one named item or as the list")
	flags.BoolVar(&f.preview, "preview", false, "find out what would be changed, and change nothing")
	flags.Var(&f.at, "at", "do not start before this `time`, such as 2026-12-01T22:00:00Z, or in 90m or 7d")
	flags.StringVar(&f.key, "key", "", "idempotency `key`: the same command again makes no second task")
	flags.Var(&f.owner, "owner", "person to whom the task belongs, or system (default system)")
	flags.BoolVarP(&f.wait, "wait", "w", false, "follow the task until it ends; Ctrl-C ends the command and not the task")
	flags.DurationVar(&f.timeout, "timeout", 0, "with --wait, give up after this time (default never)")
	f.submitFlags.add(c)
}

// startFlag is a time to come in RFC 3339, or how long it takes until then.
type startFlag struct {
	time.Time

	text string
}

func (f *startFlag) Set(text string) (err error) {
	f.text = text
	if age, err := parseAge(text); err == nil && age > 0 {
		f.Time = time.Now().Add(age)
		return nil
	}
	if f.Time, err = time.Parse(time.RFC3339, text); err != nil {
		return fmt.Errorf("%q is neither a time like 2026-12-01T22:00:00Z nor a delay like 90m or 7d", text)
	}
	return nil
}

func (f *startFlag) String() string { return f.text }

func (*startFlag) Type() string { return "time" }

// specFlag is a flag for a field of a spec.
type specFlag struct {
	field  *specform.Field
	values specform.Values
}

func (f specFlag) Set(text string) error {
	f.values[f.field.Name] = append(f.values[f.field.Name], text)
	return nil
}

func (f specFlag) String() string { return "" }

func (f specFlag) Type() string { return fieldType(f.field) }

// fieldType names the type of a field for people.
func fieldType(f *specform.Field) string {
	if f == nil {
		return "json" // of elements that have no schema
	}
	switch f.Type {
	case specform.Text, specform.Choice:
		return "text"
	case specform.Integer, specform.Number:
		return "number"
	case specform.Boolean:
		return "true|false"
	case specform.UUID:
		return "uuid"
	case specform.Date:
		return "date"
	case specform.Time:
		return "time"
	case specform.Bytes:
		return "base64"
	case specform.List:
		return fieldType(f.Item) + "..."
	case specform.Map:
		return "name=" + fieldType(f.Item) + "..."
	case specform.Group, specform.JSON:
		return "json"
	}
	return "json"
}

// fieldHelp describes a field for people.
func fieldHelp(f *specform.Field) string {
	help := strings.Join(strings.Fields(f.Help), " ")
	var notes []string
	if f.Required {
		notes = append(notes, "required")
	}
	if len(f.Enum) > 0 {
		notes = append(notes, "one of "+f.Choices())
	}
	switch {
	case f.Min != "" && f.Max != "":
		notes = append(notes, f.Min+" to "+f.Max)
	case f.Min != "":
		notes = append(notes, "at least "+f.Min)
	case f.Max != "":
		notes = append(notes, "at most "+f.Max)
	}
	if f.Secret {
		notes = append(notes, "a secret: put it into --file, since others can read flags")
	}
	if len(notes) > 0 {
		help += " (" + strings.Join(notes, "; ") + ")"
	}
	return strings.ReplaceAll(screen.Clean(strings.TrimSpace(help)), "`", "'")
}

// a start is what run needs of a kind.
type start struct {
	kind          string
	doc           string
	schema        json.RawMessage // of the spec
	form          *specform.Form  // of the schema
	preview       bool
	path          string            // of an application; "" for the database
	flagOf        map[string]string // by the name of the field
	values        specform.Values
	runFlags      *runFlags
	retired, none bool // it accepts no new tasks; it has no fields
}

func (a *App) runCommand() *cobra.Command {
	c := with(listFormats, &cobra.Command{
		Use:   runName + " KIND [--FIELD VALUE ...]",
		Short: "Start a task",
		Long: `Start a task of a kind. The flags are the fields of its spec: "taskkit run KIND --help" lists them. A list takes its
flag several times, or values separated by commas; lists, maps and groups also take JSON. --file has the whole spec,
and --csv the list of targets. All mistakes in the spec are reported at once, and then nothing is started.

The kinds are the kinds of this program, or with --url the kinds that an application starts over HTTP (package taskhttp).`,
		Example: `  taskkit run send_email --file spec.json
  taskkit run program_status --program math --status exited --csv people.csv --preview -w
  taskkit run set_status --url https://campus.example --students 1,2,3 --status paused`,
		// The flags of a kind of an application are known once the application has been reached.
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		RunE:               a.runElsewhere,
	})
	if a.Registry != nil {
		for _, kind := range a.Registry.Kinds() {
			info, _ := a.Registry.Info(kind)
			s := &start{kind: kind, doc: info.Doc, preview: info.Preview, retired: info.Retired}
			var err error
			if s.form, err = specform.New(info.SpecSchema); err != nil {
				s.none = true
				s.form, _ = specform.New([]byte(`{}`))
			}
			c.AddCommand(a.startCommand(s))
		}
	}
	return c
}

// startCommand is the command that starts tasks of a kind.
func (a *App) startCommand(s *start) *cobra.Command {
	s.runFlags, s.flagOf, s.values = new(runFlags), make(map[string]string), make(specform.Values)
	short, _, _ := strings.Cut(strings.TrimSpace(s.doc), "\n")
	c := with(listFormats, &cobra.Command{
		Use:     s.kind + " [--FIELD VALUE ...]",
		Short:   screen.Short(short, 100),
		Long:    screen.Text(s.doc),
		Example: fmt.Sprintf("  taskkit %s %s --file spec.json", runName, s.kind),
		Args:    noArgs,
		Hidden:  s.retired,
		RunE:    func(c *cobra.Command, _ []string) error { return a.start(c, s) },
	})
	s.runFlags.add(c)
	for f := range s.form.All() {
		name := screen.Clean(f.Flag()) // another application says it
		if c.Flags().Lookup(name) != nil {
			continue
		}
		flag := c.Flags().VarPF(specFlag{f, s.values}, name, "", fieldHelp(f))
		if f.Type == specform.Boolean {
			flag.NoOptDefVal = "true"
		}
		if len(f.Enum) > 0 {
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(f.Enum, cobra.ShellCompDirectiveNoFileComp))
		}
		s.flagOf[f.Name] = name
	}
	return c
}

// spec returns the spec that the flags say.
func (s *start) spec(in io.Reader) ([]byte, error) {
	if s.runFlags.file != "" {
		text, err := readInput(in, s.runFlags.file)
		if err != nil {
			return nil, err
		}
		s.values[specform.Root] = []string{string(text)}
	}
	if s.runFlags.csv != "" {
		if err := s.readTargets(in); err != nil {
			return nil, err
		}
	}
	spec, problems := s.form.Parse(s.values)
	if len(problems) == 0 {
		return spec, nil
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = s.problem(p)
	}
	return nil, usage("the spec of %s is refused, and nothing was started; see `taskkit %s %s --help`\n%s", s.kind, runName, s.kind, strings.Join(lines, "\n"))
}

// problem says what is wrong with which flag.
func (s *start) problem(p specform.Problem) string {
	flag, ok := s.flagOf[p.Field]
	if !ok {
		return p.String()
	}
	return "--" + flag + " " + p.Text
}

// start starts a task in the database or in an application.
func (a *App) start(c *cobra.Command, s *start) error {
	f := s.runFlags
	switch {
	case s.retired:
		return usage("the kind %s is retired and accepts no new tasks", s.kind)
	case f.preview && !s.preview:
		return usage("the kind %s has no previews: leave --preview out", s.kind)
	case f.file == "-" && f.csv == "-":
		return usage("--file and --csv cannot both be the standard input")
	case f.timeout < 0 || f.timeout > 0 && !f.wait:
		return usage("--timeout accepts a duration like 10m, with --wait")
	}
	if err := f.applicationFlags.check(); err != nil {
		return err
	}
	if f.url != "" {
		return a.startElsewhere(c, s)
	}
	spec, err := s.spec(c.InOrStdin())
	if err != nil {
		return err
	}
	opts := append(f.options(), taskkit.WithSchema(a.Schema()))
	if f.owner.String() == "" {
		f.owner.UUID = taskkit.SystemOwner
	}
	opts = append(opts, f.owner.owns())
	if f.preview {
		opts = append(opts, taskkit.WithPreview())
	}
	if !f.at.IsZero() {
		opts = append(opts, taskkit.WithNotBefore(f.at.Time))
	}
	if f.key != "" {
		opts = append(opts, taskkit.WithIdempotencyKey(f.key))
	}
	db, err := a.Connect(c.Context())
	if err != nil {
		return err
	}
	defer db.Close()
	does := "is submitted"
	id, err := a.Registry.SubmitJSON(c.Context(), db.DB, s.kind, spec, opts...)
	if taken, ok := errors.AsType[*taskkit.DuplicateError](err); ok && taken.By == "idempotency key" && taken.ID != (taskkit.ID{}) {
		id, err, does = taken.ID, nil, "was submitted with this key before"
	}
	if err != nil {
		return err
	}
	return a.started(c.Context(), db, id, does, f)
}

// started prints a task that was submitted, or follows it.
func (a *App) started(ctx context.Context, db *Connection, id taskkit.ID, does string, f *runFlags) error {
	next := "follow it: taskkit watch " + id.String() + a.flags()
	if !f.wait {
		return a.printMade(ctx, db, id, func(*taskkit.Task) string { return does + "; " + next })
	}
	t, err := db.Task(ctx, id)
	if err != nil {
		return err
	}
	if a.output == tableFormat {
		fmt.Fprintf(a.err, "task %s %s\n", id, does)
	}
	if err := a.watch(ctx, db, t, f.timeout); err != nil || !f.preview || a.output != tableFormat {
		return err
	}
	report, err := db.Preview(ctx, id)
	if err != nil {
		return err
	}
	a.showPreview(report)
	fmt.Fprintln(a.err, a.named("to do it: taskkit apply "+id.String()+a.flags()))
	return nil
}
