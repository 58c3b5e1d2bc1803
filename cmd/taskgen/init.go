package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// taskkitModule is the module that this command belongs to.
const taskkitModule = "taskkit.dev"

//go:embed start/*.txt
var startFiles embed.FS

// starts names the files of a new module, and those in startFiles that they are
// made of.
var starts = [][2]string{
	{"executors/generate.go", "generate.go.txt"},
	{"executors/setstatus/setstatus.go", "setstatus.go.txt"},
	{"main.go", "main.go.txt"},
}

const initUsage = `usage: taskgen init [-module PATH] [DIR]

Starts a module in DIR, by default the working directory: one executor, the directive
of go generate, and a program that runs a bulk action on SQLite. An existing
go.mod is kept and completed. No file is overwritten.

`

// runInit is the command taskgen init. It returns its exit status.
func runInit(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("taskgen init", flag.ContinueOnError)
	flags.SetOutput(stderr)
	modulePath := flags.String("module", "", "`path` of a new module; default example.com/ and the last element of DIR")
	flags.Usage = func() {
		fmt.Fprint(stderr, initUsage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 1 {
		flags.Usage()
		return 2
	}
	dir := cmp.Or(flags.Arg(0), ".")
	if err := initModule(ctx, dir, *modulePath, stderr); err != nil {
		fmt.Fprintf(stderr, "taskgen: start a module in %s: %v\n", dir, err)
		return 1
	}
	fmt.Fprintf(stdout, "The module is ready. Run it with: cd %s && go run .\n", dir)
	return 0
}

// initModule starts a module in a directory, and generates its code.
func initModule(ctx context.Context, dir, modulePath string, log io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	mod, err := readMod(dir)
	if err != nil {
		return err
	}
	if mod.Module != nil {
		if modulePath != "" && modulePath != mod.Module.Mod.Path {
			return fmt.Errorf("go.mod names module %s, not %s: drop -module", mod.Module.Mod.Path, modulePath)
		}
		modulePath = mod.Module.Mod.Path
	}
	modulePath = cmp.Or(modulePath, "example.com/"+filepath.Base(dir))
	if err := module.CheckImportPath(modulePath); err != nil {
		return fmt.Errorf("%w: give the module's path with -module", err)
	}
	edits := []string{"mod", "edit", "-tool=taskkit.dev/cmd/taskgen"}
	needs := !slices.ContainsFunc(mod.Require, func(r *modfile.Require) bool { return r.Mod.Path == taskkitModule })
	var checkout string
	if needs {
		var version []string
		if version, checkout, err = taskkitVersion(dir); err != nil {
			return err
		}
		edits = append(edits, version...)
	}
	if err := writeStart(dir, modulePath); err != nil {
		return err
	}
	c := commands{ctx: ctx, dir: dir, log: log}
	if mod.Module == nil {
		c.run("mod", "init", modulePath)
	}
	c.run(edits...)
	if c.err == nil && checkout != "" {
		c.err = copySums(checkout, dir)
	}
	c.run("mod", "tidy", "-e") // -e: the generated code is imported and not there yet
	c.run("generate", "./...")
	c.run("mod", "tidy")
	return c.err
}

// readMod reads the go.mod of a directory, which may be missing.
func readMod(dir string) (*modfile.File, error) {
	name := filepath.Join(dir, "go.mod")
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &modfile.File{}, nil
	}
	if err != nil {
		return nil, err
	}
	return modfile.Parse(name, data, nil)
}

// taskkitVersion returns the flags of go mod edit that make a module in dir require
// taskkit: the checkout around the working directory, or else the version that runs
// now.
func taskkitVersion(dir string) (flags []string, checkout string, err error) {
	at, err := os.Getwd()
	if err != nil {
		return nil, "", err
	}
	for up := ""; up != at; at, up = filepath.Dir(at), at {
		mod, err := readMod(at)
		if err != nil || mod.Module == nil || mod.Module.Mod.Path != taskkitModule {
			continue
		}
		to, err := filepath.Rel(dir, at)
		if err != nil {
			return nil, "", err
		}
		if to = filepath.ToSlash(to); !strings.HasPrefix(to, ".") {
			to = "./" + to
		}
		return []string{"-require=" + taskkitModule + "@v0.0.0", "-replace=" + taskkitModule + "=" + to}, at, nil
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path == taskkitModule && strings.HasPrefix(info.Main.Version, "v") {
		return []string{"-require=" + taskkitModule + "@" + info.Main.Version}, "", nil
	}
	return nil, "", errors.New("go.mod does not require taskkit.dev, and its version is not known: " +
		"run go get -tool taskkit.dev/cmd/taskgen in the module first, or run taskgen init in a checkout of taskkit")
}

// writeStart writes the files of a new module. It writes none when one is there.
func writeStart(dir, modulePath string) error {
	for _, f := range starts {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f[0]))); err == nil {
			return fmt.Errorf("%s is there already and would be overwritten: name an empty directory", f[0])
		}
	}
	fill := strings.NewReplacer("MODULE_PATH", modulePath, "MODULE_NAME", path.Base(modulePath))
	for _, f := range starts {
		data, err := startFiles.ReadFile("start/" + f[1])
		if err != nil {
			return err
		}
		name := filepath.Join(dir, filepath.FromSlash(f[0]))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(fill.Replace(string(data))), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// copySums gives a module the checksums of a checkout, so that they are the same
// and are not asked of the network.
func copySums(checkout, dir string) error {
	to := filepath.Join(dir, "go.sum")
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(checkout, "go.sum"))
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o666)
}

// commands runs the go command. After the first error it does nothing.
type commands struct {
	ctx context.Context //nolint:containedctx // of one call of init
	dir string
	log io.Writer
	err error
}

func (c *commands) run(args ...string) {
	if c.err != nil {
		return
	}
	fmt.Fprintln(c.log, "go", strings.Join(args, " "))
	cmd := exec.CommandContext(c.ctx, "go", args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GOWORK=off") // a workspace around the directory does not have the module yet
	if out, err := cmd.CombinedOutput(); err != nil {
		c.err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
}
