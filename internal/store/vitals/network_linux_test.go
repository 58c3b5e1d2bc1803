package vitals

import (
	"os"
	"path/filepath"
	"testing"
)

// The numbers of statfs(2) name the file systems of other machines, and no disk of this one is taken for one.
func TestNetworks(t *testing.T) {
	t.Parallel()
	for number, want := range map[int64]string{0x6969: "nfs", 0xFE534D42: "smb", 0xEF53: "", 0x01021994: "", 0x58465342: ""} {
		if got := networks[number]; got != want {
			t.Errorf("file system %#x: %q, want %q", number, got, want)
		}
	}
	file := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := networkOf(file); err != nil {
		t.Error(err)
	}
	if _, err := networkOf(file + "-missing"); err == nil {
		t.Error("a file that does not exist has a file system")
	}
}
