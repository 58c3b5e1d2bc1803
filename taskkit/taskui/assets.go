package taskui

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed assets/*
var assetFiles embed.FS

// assets are files under names with a hash of their content, which browsers may keep for ever.
type assets struct {
	paths map[string]string // name to path below the dashboard
	files map[string]asset  // by path
}

type asset struct {
	content []byte
	media   string
}

// mediaTypes are the types of assets by the end of their names.
var mediaTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

func loadAssets() (*assets, error) {
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		return nil, fmt.Errorf("read the assets: %w", err)
	}
	a := &assets{paths: map[string]string{}, files: map[string]asset{}}
	for _, e := range entries {
		content, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("read the asset %s: %w", e.Name(), err)
		}
		sum := sha256.Sum256(content)
		end := path.Ext(e.Name())
		p := "assets/" + strings.TrimSuffix(e.Name(), end) + "-" + hex.EncodeToString(sum[:8]) + end
		a.paths[e.Name()], a.files[p] = p, asset{content, mediaTypes[end]}
	}
	return a, nil
}

// path returns the path of an asset below the dashboard.
func (a *assets) path(name string) string { return a.paths[name] }

// serveAsset answers a request of an asset, which needs no access: the files are public.
func (d *dashboard) serveAsset(w http.ResponseWriter, r *http.Request, below string) bool {
	f, ok := d.assets.files[strings.TrimPrefix(below, "/")]
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Type", f.media)
	h.Set("Content-Length", strconv.Itoa(len(f.content)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(f.content)
	}
	return true
}
