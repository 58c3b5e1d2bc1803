package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/internal/specform"
)

// kindJSON is a kind of the program, or with the workers alone one that they have.
type kindJSON struct {
	Name         string          `json:"name"`
	Doc          string          `json:"doc,omitempty"`
	Aliases      []string        `json:"aliases,omitempty"`
	Revision     int             `json:"revision,omitempty"`
	Queue        string          `json:"queue,omitempty"`
	Targets      string          `json:"targets,omitempty"` // the path of the list of targets in the spec
	Preview      *bool           `json:"preview"`           // this and the next five are null if only workers have the kind
	Result       *bool           `json:"result"`
	Retired      *bool           `json:"retired"`
	Buckets      *bool           `json:"buckets"`
	Stages       *bool           `json:"stages"`
	Children     *bool           `json:"children"`
	Workers      int             `json:"workers"` // that are alive and have it
	SpecSchema   json.RawMessage `json:"spec_schema,omitempty"`
	ResultSchema json.RawMessage `json:"result_schema,omitempty"`
}

// offeredKind is a kind that an application starts, as its OpenAPI document has it.
type offeredKind struct {
	Name       string          `json:"name"`
	Doc        string          `json:"doc,omitempty"`
	Preview    bool            `json:"preview"`
	SpecSchema json.RawMessage `json:"spec_schema"`
}

func (a *App) kindsCommand() *cobra.Command {
	var at applicationFlags
	c := with(listFormats, &cobra.Command{
		Use:   "kinds",
		Short: "List the kinds of tasks",
		Long: `List the kinds of tasks of this program, with the live workers that have each. Kinds that only workers have
are listed, too; they can be controlled here and not started, and what their tasks can be or have is unknown. With --url the kinds are those that an application
starts over HTTP (package taskhttp).`,
		Example: `  taskkit kinds
  taskkit kinds show send_email
  taskkit kinds --url https://campus.example`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := at.check(); err != nil {
				return err
			}
			if at.url != "" {
				return a.listElsewhere(c.Context(), &at)
			}
			kinds, err := a.kinds(c)
			if err != nil {
				return err
			}
			return printList(a, kinds, list[*kindJSON]{
				none:   "there are no kinds: this program has none, and no worker is alive",
				name:   func(k *kindJSON) string { return k.Name },
				header: []string{"kind", "revision", "queue", "workers", "can", "what it does"}, numbers: []int{2, 4},
				row: func(k *kindJSON) []string {
					revision := ""
					if k.Revision > 0 {
						revision = fmt.Sprint(k.Revision)
					}
					return []string{k.Name, revision, k.Queue, fmt.Sprint(k.Workers), strings.Join(k.can(), ", "), screen.Short(k.Doc, 80)}
				},
			})
		},
	})
	const help = "read the kinds of the application at this `URL`, over HTTP, instead of the program's own"
	at.add(c.Flags(), help)
	var of applicationFlags
	show := &cobra.Command{
		Use:               "show KIND",
		Short:             "Show a kind with the fields of its spec",
		Long:              "Show what a kind does, and the fields of its spec: they are the flags of \"taskkit run KIND\".",
		Example:           "  taskkit kinds show send_email",
		ValidArgsFunction: a.completeKinds,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("give one kind, not %d: see `%s --help`", len(args), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := of.check(); err != nil {
				return err
			}
			if of.url != "" {
				return a.showElsewhere(c.Context(), &of, args[0])
			}
			return a.showKind(args[0])
		},
	}
	of.add(show.Flags(), help)
	c.AddCommand(show)
	return c
}

// listElsewhere lists the kinds that an application starts.
func (a *App) listElsewhere(ctx context.Context, at *applicationFlags) error {
	app, err := at.application()
	if err != nil {
		return err
	}
	kinds, err := app.kinds(ctx)
	if err != nil {
		return err
	}
	offered := make([]*offeredKind, len(kinds))
	for i, s := range kinds {
		offered[i] = s.offered()
	}
	return printList(a, offered, list[*offeredKind]{
		none:   "there are no kinds: the application starts none",
		name:   func(k *offeredKind) string { return k.Name },
		header: []string{"kind", "can", "what it does"},
		row:    func(k *offeredKind) []string { return []string{k.Name, k.can(), screen.Short(k.Doc, 80)} },
	})
}

// showElsewhere shows a kind that an application starts.
func (a *App) showElsewhere(ctx context.Context, at *applicationFlags, name string) error {
	app, err := at.application()
	if err != nil {
		return err
	}
	s, err := app.kind(ctx, name)
	if err != nil {
		return err
	}
	k := s.offered()
	return a.printNamed(k.Name, k, func(io.Writer) {
		a.out.Fields([][2]string{{"kind", k.Name}, {"does", k.Doc}, {"can", k.can()}})
		a.showFields(s.form)
	})
}

func (s *start) offered() *offeredKind {
	return &offeredKind{Name: s.kind, Doc: strings.TrimSpace(s.doc), Preview: s.preview, SpecSchema: s.schema}
}

func (k *offeredKind) can() string {
	if k.Preview {
		return "preview"
	}
	return ""
}

// can says in words what tasks of a kind can be or have, as far as the program has the kind.
func (k *kindJSON) can() (words []string) {
	if k.Preview == nil {
		return []string{"unknown"}
	}
	for _, w := range []struct {
		word string
		is   *bool
	}{{"preview", k.Preview}, {"result", k.Result}, {"buckets", k.Buckets}, {"stages", k.Stages}, {"children", k.Children}, {"retired", k.Retired}} {
		if *w.is {
			words = append(words, w.word)
		}
	}
	return words
}

// known returns a kind of the program.
func (a *App) known(name string) (*kindJSON, bool) {
	if a.Registry == nil {
		return nil, false
	}
	i, ok := a.Registry.Info(name)
	if !ok {
		return nil, false
	}
	return &kindJSON{
		Name: i.Name, Doc: strings.TrimSpace(i.Doc), Aliases: i.Aliases, Revision: i.Revision, Queue: i.Queue, Targets: i.Targets, Preview: &i.Preview, Result: &i.Result,
		Retired: &i.Retired, Buckets: &i.Segments, Stages: &i.Stages, Children: &i.Children, SpecSchema: i.SpecSchema, ResultSchema: i.ResultSchema,
	}, true
}

// kinds returns the kinds of the program and of live workers, by name.
func (a *App) kinds(c *cobra.Command) ([]*kindJSON, error) {
	all := make(map[string]*kindJSON)
	if a.Registry != nil {
		for _, name := range a.Registry.Kinds() {
			all[name], _ = a.known(name)
		}
	}
	db, err := a.Connect(c.Context())
	if err != nil {
		return nil, err
	}
	defer db.Close()
	workers, err := db.Workers(c.Context())
	if err != nil {
		return nil, err
	}
	for _, w := range workers {
		if !w.Alive {
			continue
		}
		for name, revisions := range w.Kinds {
			if k, ok := a.known(name); ok {
				name = k.Name // and not an alias
			}
			if all[name] == nil {
				all[name] = &kindJSON{Name: name, Revision: slices.Max(append(revisions, 0))}
			}
			all[name].Workers++
		}
	}
	var sorted []*kindJSON
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sorted = append(sorted, all[name])
	}
	return sorted, nil
}

func (a *App) showKind(name string) error {
	k, ok := a.known(name)
	if !ok {
		return usage("this program has no kind %s: run the program that has it (package taskkitcli), or name its application with --url; `taskkit kinds` lists also kinds that only workers have", screen.Clean(name))
	}
	return a.printNamed(k.Name, k, func(io.Writer) {
		a.out.Fields([][2]string{
			{"kind", fmt.Sprintf("%s (revision %d)", k.Name, k.Revision)},
			{"does", k.Doc},
			{"aliases", strings.Join(k.Aliases, ", ")},
			{"queue", k.Queue},
			{"targets", k.Targets},
			{"can", strings.Join(k.can(), ", ")},
		})
		if form, err := specform.New(k.SpecSchema); err == nil {
			a.showFields(form)
		}
	})
}

// showFields writes the fields of a spec.
func (a *App) showFields(form *specform.Form) {
	var rows [][]string
	for f := range form.All() {
		if f.Name != "" {
			rows = append(rows, []string{"--" + f.Name, fieldType(f), fieldHelp(f)})
		}
	}
	a.section("Fields of the spec", len(rows), -1)
	a.out.Table([]string{"flag", "type", "help"}, rows)
}
