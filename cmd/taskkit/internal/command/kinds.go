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

// kindJSON is a kind of the program or of an application, or with the workers alone one that they have.
type kindJSON struct {
	Name         string          `json:"name"`
	Doc          string          `json:"doc,omitempty"`
	Aliases      []string        `json:"aliases,omitempty"`
	Revision     int             `json:"revision,omitempty"`
	Queue        string          `json:"queue,omitempty"`
	Targets      string          `json:"targets,omitempty"` // the path of the list of targets in the spec
	Preview      bool            `json:"preview"`
	Result       bool            `json:"result"`
	Retired      bool            `json:"retired"`
	Buckets      bool            `json:"buckets"`
	Stages       bool            `json:"stages"`
	Children     bool            `json:"children"`
	Workers      int             `json:"workers"` // that are alive and have it
	SpecSchema   json.RawMessage `json:"spec_schema,omitempty"`
	ResultSchema json.RawMessage `json:"result_schema,omitempty"`
}

func (a *App) kindsCommand() *cobra.Command {
	var at applicationFlags
	c := with(listFormats, &cobra.Command{
		Use:   "kinds",
		Short: "List the kinds of tasks",
		Long: `List the kinds of tasks of this program, with the live workers that have each. Kinds that only workers have
are listed, too; they can be controlled here and not started. With --url the kinds are those that an application
starts over HTTP (package taskhttp), of which only the names, what they do and their specs are known.`,
		Example: `  taskkit kinds
  taskkit kinds show send_email
  taskkit kinds --url https://campus.example`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			none, kinds, err := "there are no kinds: this program has none, and no worker is alive", []*kindJSON(nil), at.check()
			switch {
			case err != nil:
			case at.url != "":
				none = "there are no kinds: the application starts none"
				kinds, err = at.kinds(c.Context())
			default:
				kinds, err = a.kinds(c)
			}
			if err != nil {
				return err
			}
			return printList(a, kinds, list[*kindJSON]{
				none:   none,
				name:   func(k *kindJSON) string { return k.Name },
				header: []string{"kind", "revision", "queue", "workers", "can", "what it does"}, numbers: []int{2, 4},
				row: func(k *kindJSON) []string {
					revision := ""
					if k.Revision > 0 {
						revision = fmt.Sprint(k.Revision)
					}
					workers := fmt.Sprint(k.Workers)
					if at.url != "" {
						workers = "" // not known
					}
					return []string{k.Name, revision, k.Queue, workers, strings.Join(k.can(), ", "), screen.Short(k.Doc, 80)}
				},
			})
		},
	})
	const help = "read the kinds of the application at this `URL`, over HTTP, instead of those of this program"
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
			if of.url == "" {
				k, ok := a.known(args[0])
				if !ok {
					return usage("this program has no kind %s: run the program that has it (package taskkitcli), or name an application with --url; `taskkit kinds` lists the kinds", screen.Clean(args[0]))
				}
				return a.showKind(k)
			}
			app, err := of.application()
			if err != nil {
				return err
			}
			s, err := app.kind(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.showKind(s.info())
		},
	}
	of.add(show.Flags(), help)
	c.AddCommand(show)
	return c
}

// kinds returns the kinds that an application starts, by name.
func (f *applicationFlags) kinds(ctx context.Context) ([]*kindJSON, error) {
	app, err := f.application()
	if err != nil {
		return nil, err
	}
	starts, err := app.kinds(ctx)
	if err != nil {
		return nil, err
	}
	kinds := make([]*kindJSON, len(starts))
	for i, s := range starts {
		kinds[i] = s.info()
	}
	return kinds, nil
}

// info returns what is known of a kind of an application.
func (s *start) info() *kindJSON {
	return &kindJSON{Name: s.kind, Doc: strings.TrimSpace(s.doc), SpecSchema: s.schema}
}

// can says in words what tasks of a kind can be or have.
func (k *kindJSON) can() (words []string) {
	for _, w := range []struct {
		word string
		is   bool
	}{{"preview", k.Preview}, {"result", k.Result}, {"buckets", k.Buckets}, {"stages", k.Stages}, {"children", k.Children}, {"retired", k.Retired}} {
		if w.is {
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
		Name: i.Name, Doc: strings.TrimSpace(i.Doc), Aliases: i.Aliases, Revision: i.Revision, Queue: i.Queue, Targets: i.Targets, Preview: i.Preview, Result: i.Result,
		Retired: i.Retired, Buckets: i.Segments, Stages: i.Stages, Children: i.Children, SpecSchema: i.SpecSchema, ResultSchema: i.ResultSchema,
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

func (a *App) showKind(k *kindJSON) error {
	name := k.Name
	if k.Revision > 0 {
		name += fmt.Sprintf(" (revision %d)", k.Revision)
	}
	return a.printNamed(k.Name, k, func(io.Writer) {
		a.out.Fields([][2]string{
			{"kind", name},
			{"does", k.Doc},
			{"aliases", strings.Join(k.Aliases, ", ")},
			{"queue", k.Queue},
			{"targets", k.Targets},
			{"can", strings.Join(k.can(), ", ")},
		})
		form, err := specform.New(k.SpecSchema)
		if err != nil {
			return
		}
		var rows [][]string
		for f := range form.All() {
			if f.Name != "" {
				rows = append(rows, []string{"--" + f.Name, fieldType(f), fieldHelp(f)})
			}
		}
		a.section("Fields of the spec", len(rows), -1)
		a.out.Table([]string{"flag", "type", "help"}, rows)
	})
}
