package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/bench/gen/tinytask"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/taskkit"
)

// indexedTasks is how many tasks are submitted, claimed and ended, each in a transaction of its own.
const indexedTasks = 1000

// logged is what the write-ahead log has of an index or a table: entries or versions of rows, and bytes.
type logged struct{ entries, bytes float64 }

// logRecord matches a record of pg_waldump that changes a relation: its bytes and the number of its file.
var logRecord = regexp.MustCompile(`rmgr: (\S+)\s+len \(rec/tot\):\s*\d+/\s*(\d+),.* desc: (\S+).*?rel \d+/\d+/(\d+)`)

// indexSizes measures what each index costs a task when it is submitted, claimed and ended: one without keys, and one with all.
func indexSizes(ctx context.Context, _, empty *sized, _ sizes, _ time.Duration, out io.Writer) error {
	if !empty.postgres {
		return nil
	}
	var phases []map[string]logged
	for _, keys := range []bool{false, true} {
		made, err := empty.weigh(ctx, keys)
		if err != nil {
			return err
		}
		phases = append(phases, made...)
	}
	var names []string
	for _, p := range phases {
		for name := range p {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var rows [][]string
	for _, name := range slices.Compact(names) {
		row := []string{name}
		for _, p := range phases {
			cell := ""
			if l := p[name]; l.bytes >= indexedTasks {
				cell = fmt.Sprintf("%.2f, %.0f", l.entries/indexedTasks, l.bytes/indexedTasks)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	markdown(out, "What a task costs each index and table: entries or versions, bytes of log",
		[]string{"", "submit", "claim", "end", "submit, with keys", "claim", "end"}, rows)
	return nil
}

// weigh submits, claims and ends tasks, and returns what each of the three logs.
func (s *sized) weigh(ctx context.Context, keys bool) (phases []map[string]logged, err error) {
	w, err := dbstore.Open(ctx, s.db, s.schema(), dbstore.Options{})
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	defer w.Release(ctx)
	process := "weigh " + uuid.NewString()
	kinds := map[string][]int{tinytask.Kind.Name(): {1}}
	if err := w.RegisterWorker(ctx, store.Process{ID: process, Kinds: kinds, Queues: []string{"default"}, Slots: 1, DeadAfter: time.Hour}); err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	var claimed []store.ClaimedTask
	for _, phase := range []func(i int) error{
		func(i int) error {
			opts := []taskkit.SubmitOption{taskkit.OwnedBy(uuid.New())}
			if keys {
				n := strconv.Itoa(i)
				opts = append(opts, taskkit.WithCoalescing("reference "+n), taskkit.WithUniqueKey("key "+n), taskkit.WithIdempotencyKey("once "+n))
			}
			_, err := tinytask.Submit(ctx, s.db, tinytask.Spec{Stamp: int64(i)}, opts...)
			return err
		},
		func(int) error {
			r, err := w.Claim(ctx, store.Claim{Process: process, Queues: []string{"default"}, Kinds: kinds, Limit: 1, SpecMax: 1 << 20})
			claimed = append(claimed, r.Tasks...)
			return err
		},
		func(i int) error {
			if i >= len(claimed) {
				return fmt.Errorf("%d tasks were claimed, want %d", len(claimed), indexedTasks)
			}
			_, err := w.Apply(ctx, process, []*store.Write{{Lease: claimed[i].Lease, To: lifecycle.Completed}})
			return err
		},
	} {
		from, err := s.logPosition(ctx)
		if err != nil {
			return nil, err
		}
		for i := range indexedTasks {
			if err := phase(i); err != nil {
				return nil, err
			}
		}
		made, err := s.loggedSince(ctx, from)
		if err != nil {
			return nil, err
		}
		phases = append(phases, made)
	}
	return phases, w.Deregister(ctx, process)
}

// logPosition is the present position in the write-ahead log, which is flushed.
func (s *sized) logPosition(ctx context.Context) (lsn string, err error) {
	if _, err = s.db.ExecContext(ctx, "CHECKPOINT"); err != nil {
		return "", fmt.Errorf("flush the log: %w", err)
	}
	err = s.db.QueryRowContext(ctx, "SELECT pg_current_wal_lsn()::text").Scan(&lsn)
	return lsn, err
}

// loggedSince adds the records of the log up by the names of the relations.
func (s *sized) loggedSince(ctx context.Context, from string) (map[string]logged, error) {
	to, err := s.logPosition(ctx)
	if err != nil {
		return nil, err
	}
	var dir string
	if err := s.db.QueryRowContext(ctx, "SELECT setting FROM pg_settings WHERE name = 'data_directory'").Scan(&dir); err != nil {
		return nil, err
	}
	bin, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output()
	if err != nil {
		return nil, fmt.Errorf("find pg_waldump: %w", err)
	}
	dump, err := exec.CommandContext(ctx, filepath.Join(strings.TrimSpace(string(bin)), "pg_waldump"),
		"--path", filepath.Join(dir, "pg_wal"), "--start", from, "--end", to).Output()
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	names := make(map[string]string)
	rows, err := s.db.QueryContext(ctx, "SELECT relfilenode::text, relname FROM pg_class WHERE relname LIKE 'taskkit%' AND relfilenode <> 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var file, name string
		if err := rows.Scan(&file, &name); err != nil {
			return nil, err
		}
		names[file] = name
	}
	made := make(map[string]logged)
	for lines := bufio.NewScanner(bytes.NewReader(dump)); lines.Scan(); {
		m := logRecord.FindStringSubmatch(lines.Text())
		if m == nil || names[m[4]] == "" {
			continue
		}
		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, err
		}
		l := made[names[m[4]]]
		l.bytes += n
		switch strings.TrimSuffix(m[1]+" "+m[3], "+INIT") {
		case "Btree INSERT_LEAF", "Btree INSERT_POST", "Btree SPLIT_L", "Btree SPLIT_R", "Heap INSERT", "Heap UPDATE", "Heap HOT_UPDATE":
			l.entries++
		}
		made[names[m[4]]] = l
	}
	return made, rows.Err()
}
