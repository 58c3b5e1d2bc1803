package main

import (
	"bytes"
	"os"
	"testing"
)

// The board that is committed is the one that the program writes.
func TestBoardIsGenerated(t *testing.T) {
	t.Parallel()
	made, err := board()
	if err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile("taskkit.json")
	if err != nil || !bytes.Equal(made, committed) {
		t.Errorf("taskkit.json is not what the program writes: go run . >taskkit.json (%v)", err)
	}
}
