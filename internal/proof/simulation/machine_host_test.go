//go:build !wasip1

package simulation_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"taskkit.dev/internal/proof/simulation"
)

// machine runs this package's TestMachine as a program for WebAssembly: one
// thread, and no time and no randomness but what it is given here, which is the
// same in every run.
type machine struct {
	runtime wazero.Runtime
	program wazero.CompiledModule
}

// built is the machine, made once for all tests that need it.
var built = sync.OnceValues(build)

func build() (*machine, error) {
	dir, err := os.MkdirTemp("", "taskkit-simulation")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "machine.wasm")
	compile := exec.Command("go", "test", "-c", "-o", file, ".")
	compile.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if out, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the simulated machine: %w\n%s", err, out)
	}
	text, err := os.ReadFile(file) //nolint:gosec // it was built above
	if err != nil {
		return nil, err
	}
	ctx := experimental.WithCompilationWorkers(context.Background(), 2)
	config := wazero.NewRuntimeConfig()
	// Translated once for every version of the program, which takes longer than
	// to run some seeds.
	if cached, err := os.UserCacheDir(); err == nil {
		if cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(cached, "taskkit-simulation")); err == nil {
			config = config.WithCompilationCache(cache)
		}
	}
	r := wazero.NewRuntimeWithConfig(ctx, config)
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return nil, err
	}
	program, err := r.CompileModule(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("compile the simulated machine: %w", err)
	}
	return &machine{r, program}, nil
}

// run runs TestMachine with flags and returns its reports. A machine that is
// started anew is in the same state each time.
func (m *machine) run(ctx context.Context, trace io.Writer, flags ...string) (reports []simulation.Report, err error) {
	var (
		out, stderr bytes.Buffer
		clock       int64
	)
	if trace == nil {
		trace = &stderr
	}
	c := wazero.NewModuleConfig().WithName("").WithStdout(&out).WithStderr(trace).
		WithArgs(append([]string{"machine", "-test.run=^TestMachine$"}, flags...)...).
		WithEnv("GOGC", "400"). // its heap is small, and it would collect it half of the time
		WithNanotime(func() int64 { clock += 1000; return clock }, sys.ClockResolution(1000)).
		WithWalltime(func() (int64, int32) { clock += 1000; return clock / 1e9, int32(clock % 1e9) }, sys.ClockResolution(1000)) //nolint:gosec // below 1e9
	_, err = m.runtime.InstantiateModule(ctx, m.program, c)
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "{") {
			continue
		}
		var r simulation.Report
		if uerr := json.Unmarshal(lines.Bytes(), &r); uerr != nil {
			return nil, uerr
		}
		reports = append(reports, r)
	}
	if exit := (*sys.ExitError)(nil); err != nil && (!asExit(err, &exit) || exit.ExitCode() != 0) {
		return reports, fmt.Errorf("%w\n%s%s", err, out.String(), stderr.String())
	}
	return reports, nil
}

// theMachine returns the machine, built. Under the race detector it skips the test: the
// machine has one thread, in which there are no races, and to watch the program that
// simulates it takes ten times as long. make test runs the package both ways.
func theMachine(t *testing.T) *machine {
	t.Helper()
	if watched {
		t.Skip("the simulated machine has one thread: run this without -race, as make test does")
	}
	m, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return m
}
