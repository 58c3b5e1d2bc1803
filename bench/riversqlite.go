package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
)

// riverSQLite measures River on SQLite by the program riverlite, which is built
// once a run.
func riverSQLite(h *host, mode string, n int) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		program, err := h.riverlite(ctx)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(h.dir, fmt.Sprintf("river_%d.db", h.last.Add(1)))
		cmd := exec.CommandContext(ctx, program, mode, strconv.Itoa(n), path)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("run riverlite %s: %w", mode, err)
		}
		var got sample
		if err := json.Unmarshal(out, &got); err != nil {
			return nil, fmt.Errorf("read what riverlite says: %w", err)
		}
		return got, errors.Join(os.Remove(path), ignoreMissing(os.Remove(path+"-wal")), ignoreMissing(os.Remove(path+"-shm")))
	}
}

// builder builds a program once.
type builder struct {
	once sync.Once
	path string
	err  error
}

// riverlite builds the program riverlite and returns its path.
func (h *host) riverlite(ctx context.Context) (string, error) {
	h.lite.once.Do(func() {
		h.lite.path = filepath.Join(h.dir, "riverlite")
		cmd := exec.CommandContext(ctx, "go", "build", "-o", h.lite.path, ".")
		cmd.Dir = "riverlite"
		if out, err := cmd.CombinedOutput(); err != nil {
			h.lite.err = fmt.Errorf("build riverlite (run bench in its own directory, as make bench does): %w: %s", err, out)
		}
	})
	return h.lite.path, h.lite.err
}
