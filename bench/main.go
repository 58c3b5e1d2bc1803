package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// options are the options of the command line.
type options struct {
	scenarios []string
	scale     float64
	runs      int
	out       string
	profile   string
	sqlite    bool
	postgres  bool
	sides     string
	contests  string
}

// scaled is a fraction of a full size, and at least least.
func (o options) scaled(full, least int) int {
	return max(int(float64(full)*o.scale), least)
}

// scenario is a question about speed.
type scenario struct {
	name     string
	needs    []string // servers
	contests func(h *host, o options) ([]contest, error)
}

// scenarios are all there are, by the numbers of the goals.
func scenarios() []scenario {
	return []scenario{
		{"bulk", []string{"postgres"}, bulk},
		{"drain", []string{"postgres", "redis"}, drain},
		{"submit", []string{"postgres", "redis"}, submit},
		{"latency", []string{"postgres", "pgbouncer"}, latency},
		{"idle", []string{"postgres"}, idle},
		{"connections", []string{"postgres", "many connections"}, connections},
		{"weight", []string{"postgres"}, weight},
		{"curve", []string{"postgres"}, curve},
		{"codec", nil, codecs},
		{"each", []string{"postgres"}, each},
		{"frozen", []string{"postgres"}, frozen},
		{"preview", []string{"postgres"}, preview},
		{"retention", []string{"postgres"}, retention},
		{"fanout", []string{"postgres"}, fanout},
		{"start", []string{"postgres"}, start},
		{"watch", []string{"postgres"}, watch},
		{"private", []string{"postgres"}, private},
		{"intake", []string{"postgres", "rabbitmq"}, intakeMessages},
		{"limits", []string{"postgres"}, limits},
		{"network", []string{"postgres", "network"}, overNetwork},
		{"horizon", []string{"postgres"}, horizon},
		{"processes", []string{"postgres"}, inManyProcesses},
		{"telemetry", []string{"postgres"}, withTelemetry},
	}
}

func main() {
	err := run(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run runs the command, or the worker process of one, until it is interrupted.
func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) > 0 && args[0] == childCommand {
		return child(ctx, args[1:], os.Stdin, os.Stdout)
	}
	if len(args) > 0 && args[0] == sizeCommand {
		return size(ctx, args[1:], os.Stdout, os.Stderr)
	}
	if len(args) > 0 && args[0] == pagesCommand {
		return pages(ctx, args[1:], os.Stdout, os.Stderr)
	}
	return command(ctx, args, os.Stdout, os.Stderr)
}

// command reads the command line and runs the scenarios. It writes tables to stdout, and
// progress to progress.
func command(ctx context.Context, args []string, stdout, progress io.Writer) (err error) {
	o := options{sqlite: true, postgres: true}
	var names []string
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	list := flags.String("scenario", "all", "scenarios to run: "+strings.Join(names, ","))
	flags.Float64Var(&o.scale, "scale", 1, "size, as a fraction of the full one")
	flags.IntVar(&o.runs, "runs", 5, "rounds of each contest")
	flags.StringVar(&o.out, "out", "", "file to write the tables to as well")
	flags.StringVar(&o.profile, "cpuprofile", "", "file to write a CPU profile to: of everything that runs, so choose one side")
	flags.StringVar(&o.sides, "sides", "", "measure only the sides whose name contains one of these, by comma")
	flags.StringVar(&o.contests, "contest", "", "measure only the contests whose title contains this")
	base := flags.String("db", "both", "postgres, sqlite or both")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *list == "all" {
		o.scenarios = names
	} else {
		o.scenarios = strings.Split(*list, ",")
	}
	for _, n := range o.scenarios {
		if !slices.Contains(names, n) {
			return fmt.Errorf("there is no scenario %q; there are %s", n, strings.Join(names, ", "))
		}
	}
	if !slices.Contains([]string{"both", "postgres", "sqlite"}, *base) {
		return fmt.Errorf("-db is %q: say postgres, sqlite or both", *base)
	}
	if o.runs < 1 || o.scale <= 0 {
		return fmt.Errorf("-runs is %d and -scale %g: both must be above 0", o.runs, o.scale)
	}
	o.postgres, o.sqlite = *base != "sqlite", *base != "postgres"
	if o.profile != "" {
		stop, err := profile(o.profile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	outcomes, failed := measure(ctx, o, progress) // outcomes before a failure are useful
	tables := []string{head(o)}
	for _, out := range outcomes {
		tables = append(tables, out.table())
	}
	text := strings.Join(tables, "\n")
	fmt.Fprint(stdout, text)
	if o.out != "" {
		if err := os.WriteFile(o.out, []byte(text), 0o644); err != nil {
			return errors.Join(failed, fmt.Errorf("write the tables: %w", err))
		}
	}
	return failed
}

// measure runs the scenarios. With an error it returns the outcomes so far.
func measure(ctx context.Context, o options, progress io.Writer) (outcomes []outcome, err error) {
	needs := make(map[string]bool)
	var chosen []scenario
	for _, s := range scenarios() {
		if !slices.Contains(o.scenarios, s.name) {
			continue
		}
		chosen = append(chosen, s)
		for _, n := range s.needs {
			needs[n] = true
		}
	}
	h, err := newHost(ctx, needs)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	for _, s := range chosen {
		contests, err := s.contests(h, o)
		if err != nil {
			return outcomes, err
		}
		for _, c := range contests {
			if c = only(c, o.sides); len(c.sides) == 0 || !strings.Contains(c.title, o.contests) {
				continue
			}
			fmt.Fprintf(progress, "%s: %s\n", s.name, c.title)
			out, err := c.run(ctx, o.runs, progress)
			if len(out.samples) > 0 {
				outcomes = append(outcomes, out)
			}
			if err != nil {
				return outcomes, err
			}
		}
	}
	return outcomes, nil
}

// only keeps the sides whose name contains one of the words.
func only(c contest, words string) contest {
	if words == "" {
		return c
	}
	c.sides = slices.DeleteFunc(slices.Clone(c.sides), func(s side) bool {
		return !slices.ContainsFunc(strings.Split(words, ","), func(w string) bool { return strings.Contains(s.name, w) })
	})
	c.goals, c.goalsOf = nil, nil // they need their peers
	return c
}

// head describes the run of the tables.
func head(o options) string {
	load := ""
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = ", load average at the end " + strings.Join(strings.Fields(string(text))[:3], " ")
	}
	return fmt.Sprintf("%s, %s, %d CPUs%s; `bench -scenario %s -scale %g -runs %d`; median [least–most] of the runs\n",
		time.Now().UTC().Format("2006-01-02"), runtime.Version(), runtime.NumCPU(), load, strings.Join(o.scenarios, ","), o.scale, o.runs)
}

// profile writes a CPU profile until stop is called.
func profile(path string) (stop func() error, err error) {
	f, err := os.Create(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("make the file of the profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("start the profile: %w", err), f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
