package lake

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// copied is a copy of a recording of which something was changed.
func copied(t *testing.T, d *trace.Dataset, change func(dir string, session *trace.Session)) *trace.Dataset {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rec")
	if err := os.CopyFS(dir, os.DirFS(d.Dir())); err != nil {
		t.Fatal(err)
	}
	session := *d.Session()
	change(dir, &session)
	tracetest.AddSession(t, dir, &session)
	return tracetest.Open(t, dir)
}

// withVehicle is a copy of a recording whose vehicle has another name.
func withVehicle(t *testing.T, d *trace.Dataset, vehicle string) *trace.Dataset {
	t.Helper()
	return copied(t, d, func(_ string, session *trace.Session) { session.Attributes = map[string]string{"vehicle": vehicle} })
}

// TestHostileValues of attributes lead nowhere else, and are in the files as they are.
func TestHostileValues(t *testing.T) {
	d := simulated(t, 1)[0]
	for _, vehicle := range []string{
		"v12", "../../outside", "..", ".", "/etc/passwd", "a/b", "a=b", "vehicle=x/date=y", "größe 😀", "\u202e\u0000\n\x1b[2J", "%2F..%2F", "a%00b", " ", "~", "*?[]{}",
		"__HIVE_DEFAULT_PARTITION__", "", strings.Repeat("x", 240), `"'` + "`", `\..\x`,
	} {
		above := t.TempDir()
		dir := filepath.Join(above, "in", "lake")
		mustPublish(t, openLake(t, dir), withVehicle(t, d, vehicle), Request{Keys: []string{"vehicle"}})
		for _, name := range filesIn(t, above) {
			inLake, ok := strings.CutPrefix(name, filepath.Join("in", "lake")+"/")
			if !ok {
				t.Fatalf("%q: %s is outside of the lake", vehicle, name)
			}
			parts := strings.Split(inLake, "/")
			if parts[0] == manifestFolder {
				continue
			}
			value, isKey := strings.CutPrefix(parts[1], "vehicle=")
			value, err := url.PathUnescape(value)
			if want := vehicle; len(parts) != 3 || !isKey || err != nil || value != want && (want != "" || value != defaultPartition) {
				t.Errorf("%q is in %s", vehicle, inLake)
			}
		}
		rows := rowsOf(t, dir, TableRecording)
		if _, present := rows[0]["vehicle"]; len(rows) != 1 || rows[0].text("vehicle") != vehicle || present != (vehicle != "") {
			t.Errorf("the vehicle %q is %v in the files", vehicle, rows)
		}
	}
}

// TestLongValues: what has no room in a folder's name is refused, with what to do.
func TestLongValues(t *testing.T) {
	d, dir := simulated(t, 1)[0], t.TempDir()
	for _, vehicle := range []string{strings.Repeat("x", 4096), strings.Repeat("/", 100), strings.Repeat("ü", 150)} {
		_, err := openLake(t, dir).Publish(t.Context(), withVehicle(t, d, vehicle), Request{})
		if !errors.Is(err, ErrPartition) || !strings.Contains(err.Error(), "choose other partition keys") {
			t.Errorf("%d bytes: %v", len(vehicle), err)
		}
	}
	if files := filesIn(t, dir); len(files) > 0 {
		t.Errorf("%v are in the lake", files)
	}
	mustPublish(t, openLake(t, dir), withVehicle(t, d, strings.Repeat("x", 4096)), Request{Keys: []string{KeyDate}})
}

func TestCheckKeys(t *testing.T) {
	for _, keys := range [][]string{{"host"}, {"recording_id"}, {"path"}, {"date", "date"}, {"Host"}, {"Recording_ID"}, {"date", "Date"}, {"../x"}, {""}, {"a/b"}, {"a=b"}} {
		if err := CheckKeys(keys); !errors.Is(err, ErrPartition) {
			t.Errorf("%q: %v", keys, err)
		}
	}
	if err := CheckKeys([]string{"date", "vehicle", "release", "route.name"}); err != nil {
		t.Error(err)
	}
}

// TestLinksInTheLake lead nowhere outside of it.
func TestLinksInTheLake(t *testing.T) {
	d := simulated(t, 1)[0]
	for _, name := range []string{TableCallbackFact, TableRecording, manifestFolder, stagingFolder} {
		dir, outside := t.TempDir(), t.TempDir()
		if err := os.Symlink(outside, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := openLake(t, dir).Publish(t.Context(), d, Request{}); err == nil {
			t.Errorf("%s leads elsewhere, which is no error", name)
		}
		if files := filesIn(t, outside); len(files) > 0 {
			t.Errorf("%s: %v are outside of the lake", name, files)
		}
	}
}

// TestHostileManifests: nothing but files of the recording is read or removed because of a manifest.
func TestHostileManifests(t *testing.T) {
	d := simulated(t, 1)[0]
	id, err := RecordingID(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	encoded := func(what any) string {
		text, err := json.Marshal(what)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, name := range []string{"../victim", "/etc/passwd", "_manifest/victim.json", "callback_fact/victim-00000.parquet", "callback_fact/../../" + id + "-00000.parquet", "../" + id + "-00000.parquet"} {
		for file, text := range map[string]string{
			begunName(id):    encoded(claim{Former: []string{name}}),
			manifestName(id): encoded(manifest{Format: FormatVersion, Recording: id, Files: []File{{Name: name}}, Row: File{Name: "recording/" + id + "-00000.parquet"}}),
		} {
			dir := filepath.Join(t.TempDir(), "lake")
			for _, victim := range []string{name, file} {
				if filepath.IsAbs(victim) {
					continue
				}
				if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, victim)), 0o755), os.WriteFile(filepath.Join(dir, victim), []byte("victim"), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			l := openLake(t, dir)
			if v, err := l.Verify(t.Context(), id); err == nil && len(v.Problems) == 0 {
				t.Errorf("%s in %s is verified", name, file)
			}
			if _, err := l.Publish(t.Context(), d, Request{}); file == manifestName(id) && (err == nil || !strings.Contains(err.Error(), "--replace")) {
				t.Errorf("%s in %s: %v", name, file, err)
			}
			mustPublish(t, l, d, Request{Replace: true})
			if text, err := os.ReadFile(filepath.Join(dir, name)); !filepath.IsAbs(name) && (err != nil || string(text) != "victim") {
				t.Errorf("%s is gone because of %s: %v", name, file, err)
			}
		}
	}
}

// FuzzFolder: whatever a value is, its folder is one part of a path that does not lead up, and the value can be had
// from it.
func FuzzFolder(f *testing.F) {
	for _, value := range []string{"", "v12", "../x", "a=b", "\x00", "\xff", "%2e", "ü"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		folder, err := Key{"vehicle", value}.folder()
		if err != nil {
			if !errors.Is(err, ErrPartition) || len(value) < 70 {
				t.Fatal(err)
			}
			return
		}
		if strings.ContainsAny(folder, "/\x00\n") || !filepath.IsLocal(folder) || len(folder) > maxName {
			t.Fatalf("folder %q", folder)
		}
		if got, err := url.PathUnescape(strings.TrimPrefix(folder, "vehicle=")); err != nil || value != "" && got != strings.ToValidUTF8(value, "\uFFFD") {
			t.Fatalf("%q becomes %q, %v", value, got, err)
		}
	})
}
