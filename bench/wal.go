package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// walPosition is a position in the write-ahead log.
type walPosition struct {
	lsn   string
	bytes int64
}

// walPosition returns the present position, after a flush of the log to the disk.
func (h *host) walPosition(ctx context.Context) (walPosition, error) {
	var p walPosition
	err := h.queryRow(ctx, "SELECT pg_current_wal_insert_lsn()::text, (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint", &p.lsn, &p.bytes)
	return p, err
}

// queryRow reads one row from the server.
func (h *host) queryRow(ctx context.Context, query string, to ...any) error {
	conn, err := pgx.Connect(ctx, h.postgres.DSN)
	if err != nil {
		return fmt.Errorf("reach the benchmark's PostgreSQL: %w", err)
	}
	if err = conn.QueryRow(ctx, query).Scan(to...); err != nil {
		err = fmt.Errorf("query %.80q: %w", query, err)
	}
	return firstError(err, conn.Close(ctx))
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// walTold adds the figures of the log since before to a sample, for each of n tasks.
// Without pg_waldump these are only the bytes.
func (h *host) walTold(ctx context.Context, before walPosition, n int, to sample) error {
	after, err := h.walPosition(ctx)
	if err != nil {
		return err
	}
	to[walPerTask] = float64(after.bytes-before.bytes) / float64(n)
	var dir string
	if err := h.queryRow(ctx, "SELECT setting FROM pg_settings WHERE name = 'data_directory'", &dir); err != nil {
		return err
	}
	bin, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output()
	if err != nil {
		return nil //nolint:nilerr // not installed: the column stays empty
	}
	// A log that was recycled meanwhile leaves the column empty too.
	out, err := exec.CommandContext(ctx, filepath.Join(strings.TrimSpace(string(bin)), "pg_waldump"),
		"--path", filepath.Join(dir, "pg_wal"), "--start", before.lsn, "--end", after.lsn, "--stats=record").Output()
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	entries, versions := countRecords(out)
	to[entriesPerTask], to[versionsPerTask] = entries/float64(n), versions/float64(n)
	return nil
}

// countRecords counts, in pg_waldump's statistics, the records that put an entry
// into an index and those that make a version of a row. An entry into a GIN
// index's pending list counts like one into its tree, which follows.
func countRecords(stats []byte) (entries, versions float64) {
	lines := bufio.NewScanner(bytes.NewReader(stats))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 2 {
			continue
		}
		count, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			continue
		}
		switch kind := strings.TrimSuffix(f[0], "+INIT"); kind {
		case "Btree/INSERT_LEAF", "Btree/INSERT_POST", "Btree/SPLIT_L", "Btree/SPLIT_R", "Gin/INSERT", "Gin/UPDATE_META_PAGE":
			entries += count
		case "Heap/INSERT", "Heap/UPDATE", "Heap/HOT_UPDATE":
			versions += count
		}
	}
	return entries, versions
}

// dsnOf returns the direct DSN of a peer's database.
func (h *host) dsnOf(p peer) (string, error) {
	named, ok := p.(interface{ databaseName() string })
	if !ok {
		return "", fmt.Errorf("%T does not say its database's name", p)
	}
	u, err := url.Parse(h.postgres.DSN)
	if err != nil {
		return "", fmt.Errorf("read the DSN of the benchmark's PostgreSQL: %w", err)
	}
	u.Path = "/" + named.databaseName()
	return u.String(), nil
}
