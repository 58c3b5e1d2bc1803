package caseload

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"strconv"
	"strings"

	"taskkit.dev/internal/demo/caseload/ent/migrate"
)

// Fingerprint identifies the contents of a table: tables have the same fingerprint if, and
// only if, they have the same rows in any order.
type Fingerprint struct {
	Rows int
	// Sum is the sum of a hash of each row, modulo 2^64.
	Sum uint64
}

// Fingerprints reads every table of the domain, including the ledger, and returns the
// fingerprints by name. There must be no writes meanwhile.
func Fingerprints(ctx context.Context, db *sql.DB) (map[string]Fingerprint, error) {
	all := make(map[string]Fingerprint, len(migrate.Tables))
	for _, t := range migrate.Tables {
		columns := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			columns[i] = strconv.Quote(c.Name)
		}
		f, err := fingerprint(ctx, db, t.Name, columns)
		if err != nil {
			return nil, wrap("read the table "+t.Name, err)
		}
		all[t.Name] = f
	}
	return all, nil
}

func fingerprint(ctx context.Context, db *sql.DB, table string, columns []string) (f Fingerprint, err error) {
	rows, err := db.QueryContext(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+table)
	if err != nil {
		return f, err
	}
	defer rows.Close()
	cells, to := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
	for i := range cells {
		to[i] = &cells[i]
	}
	var row []byte
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return f, err
		}
		row = row[:0]
		for _, c := range cells {
			if c == nil {
				row = append(row, 0)
				continue
			}
			row = append(row, 1)
			row = binary.AppendUvarint(row, uint64(len(c)))
			row = append(row, c...)
		}
		hash := sha256.Sum256(row)
		f.Rows, f.Sum = f.Rows+1, f.Sum+binary.BigEndian.Uint64(hash[:])
	}
	return f, rows.Err()
}
