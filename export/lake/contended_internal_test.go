package lake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// contendedStore has no locks, as object storage. Before the change of that number something else happens.
type contendedStore struct {
	store
	left  int
	other func()
}

func (s *contendedStore) lock(context.Context) (func(), error) { return func() {}, nil }

func (s *contendedStore) change() {
	if s.left == 0 {
		s.other()
	}
	s.left--
}

func (s *contendedStore) put(ctx context.Context, f *stagedFile) error {
	s.change()
	return s.store.put(ctx, f)
}

func (s *contendedStore) swap(ctx context.Context, f *stagedFile, was []byte) error {
	s.change()
	return s.store.swap(ctx, f, was)
}

func (s *contendedStore) remove(ctx context.Context, name string) error {
	s.change()
	return s.store.remove(ctx, name)
}

// TestPublishersThatDiffer: where there are no locks and one publisher publishes a recording in another way while
// another is anywhere in it, one of them gives way. The lake has what the other has published, and nothing else.
func TestPublishersThatDiffer(t *testing.T) {
	d := simulated(t, 2)[0]
	requests := []Request{{Paths: allPaths, PathsAsked: "all", PathOptions: pathOptions}, {Keys: []string{KeyDate}}}
	var wanted []map[string]string
	for _, request := range requests {
		dir := t.TempDir()
		mustPublish(t, openLake(t, dir), d, request)
		wanted = append(wanted, contentOf(t, dir))
	}
	for i, first := range requests {
		for j, second := range requests {
			for _, brokenAfter := range []int{-1, 4} {
				if brokenAfter >= 0 && i == j {
					continue
				}
				met := true
				for changes := 0; met; changes++ {
					name := fmt.Sprintf("%d in %d after %d changes, broken off after %d", j, i, changes, brokenAfter)
					dir := t.TempDir()
					met = false
					var otherErr error
					unlocked := &contendedStore{store: openLake(t, dir).store, left: -1}
					contended := &contendedStore{store: unlocked.store, left: changes, other: func() {
						met = true
						in := store(unlocked)
						if brokenAfter >= 0 {
							in = &breakingStore{unlocked, brokenAfter}
						}
						_, otherErr = (&Lake{store: in}).Publish(t.Context(), d, second)
					}}
					_, err := (&Lake{store: contended}).Publish(t.Context(), d, first)
					requireOneOf(t, name, dir, err, otherErr, wanted[i], wanted[j])
				}
			}
		}
	}
}

// requireOneOf: the lake is as it was wanted by the one publisher or by the other, or by none if one was broken off;
// and who was successful has what he wanted.
func requireOneOf(t *testing.T, name, dir string, err, otherErr error, want, otherWant map[string]string) {
	t.Helper()
	if err != nil && !errors.Is(err, ErrPublished) || otherErr != nil && !errors.Is(otherErr, ErrPublished) && !errors.Is(otherErr, errBroken) {
		t.Fatalf("%s: %v, %v", name, err, otherErr)
	}
	requireWholeOrAbsent(t, dir)
	got := contentOf(t, dir)
	switch {
	case err == nil:
		requireEqual(t, name+": files", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		requireEqual(t, name+": contents", got, want)
	case otherErr == nil:
		requireEqual(t, name+": files", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(otherWant)))
		requireEqual(t, name+": contents", got, otherWant)
	case !errors.Is(otherErr, errBroken):
		t.Fatalf("%s: nobody has published it: %v, %v", name, err, otherErr)
	}
}

// TestUnreadableManifest: where nobody knows what a former publishing has put there, --replace leaves nothing of it.
func TestUnreadableManifest(t *testing.T) {
	d, want := simulated(t, 2)[0], t.TempDir()
	mustPublish(t, openLake(t, want), d, Request{})
	for _, name := range []func(string) string{manifestName, begunName} {
		dir := t.TempDir()
		l := openLake(t, dir)
		result := mustPublish(t, l, d, Request{Keys: []string{KeyDate}, Paths: allPaths, PathsAsked: "all", PathOptions: pathOptions})
		if err := os.WriteFile(filepath.Join(dir, name(result.Recording)), []byte("no JSON"), 0o644); err != nil {
			t.Fatal(err)
		}
		mustPublish(t, l, d, Request{Replace: true})
		requireEqual(t, "files", slices.Sorted(maps.Keys(contentOf(t, dir))), slices.Sorted(maps.Keys(contentOf(t, want))))
		requireEqual(t, "contents", contentOf(t, dir), contentOf(t, want))
	}
}

// TestClaimsAreKept: who finds the recording in the lake does not take away the claim of somebody who is about to
// replace it: nobody else would know what is to be removed.
func TestClaimsAreKept(t *testing.T) {
	d, dir, want := simulated(t, 2)[0], t.TempDir(), t.TempDir()
	replacing := Request{Keys: []string{KeyDate}, Replace: true}
	mustPublish(t, openLake(t, want), d, replacing)
	for changes := 1; ; changes++ {
		l := openLake(t, dir)
		if _, err := l.Publish(t.Context(), d, Request{Replace: true}); err != nil {
			t.Fatal(err)
		}
		broken := &breakingStore{l.store, changes}
		_, err := (&Lake{store: &contendedStore{store: broken, left: 1, other: func() {
			// It is claimed, and still visible.
			_, _ = l.Publish(t.Context(), d, Request{})
		}}}).Publish(t.Context(), d, replacing)
		mustPublish(t, l, d, replacing)
		requireEqual(t, fmt.Sprintf("after %d changes: files", changes), slices.Sorted(maps.Keys(contentOf(t, dir))), slices.Sorted(maps.Keys(contentOf(t, want))))
		if err == nil {
			break
		}
		if !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
	}
	if left := filesIn(t, filepath.Join(dir, manifestFolder)); len(left) != 1 || strings.HasSuffix(left[0], begunSuffix) {
		t.Errorf("there are %v", left)
	}
}

// TestVerifyFindsStrangers: files that no manifest names are told, and recordings that are being published.
func TestVerifyFindsStrangers(t *testing.T) {
	d, dir := simulated(t, 1)[0], t.TempDir()
	l := openLake(t, dir)
	result := mustPublish(t, l, d, Request{})
	problems := func() []string {
		t.Helper()
		v, err := l.Verify(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v.Problems
	}
	stranger := filepath.Join(TableRecording, "date=2026-11-30", result.Recording+"-00000000-00000.parquet")
	if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, stranger)), 0o755), os.WriteFile(filepath.Join(dir, stranger), []byte("row"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if of := problems(); len(of) != 1 || !strings.Contains(of[0], stranger) {
		t.Errorf("problems %v", of)
	}
	if err := os.Remove(filepath.Join(dir, stranger)); err != nil {
		t.Fatal(err)
	}
	for changes := 1; ; changes++ {
		broken := &breakingStore{l.store, changes}
		_, err := (&Lake{store: broken}).Publish(t.Context(), d, Request{Keys: []string{KeyDate}, Replace: true})
		if err == nil {
			break
		}
		if of := problems(); len(of) != 1 || !strings.Contains(of[0], "publish it again") {
			t.Errorf("after %d changes: problems %v", changes, of)
		}
	}
	if of := problems(); len(of) != 0 {
		t.Errorf("problems %v", of)
	}
}
