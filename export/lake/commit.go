package lake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// commit puts the files into the lake, the last one, which makes the recording visible, after the manifest. Each step
// leaves the lake so that a publisher that begins anew completes it:
//
//  1. a claim: a list of all files of the recording that may be there from now on,
//  2. what is visible of the recording is taken away,
//  3. the files, 4. without those of a former publishing that this one has not,
//  5. the manifest, 6. the row of the recording, 7. the claim is removed.
//
// Where there are no locks, the last claim wins: whoever sees that the claim is not his any more takes his files away.
// Files are named by what was published, so nobody puts another content under the name of a file that is there.
//
// If somebody else has published the recording meanwhile, nothing is done, and its manifest is returned.
func (p *publishing) commit(ctx context.Context, s *staging, files []stagedFile) (there *manifest, err error) {
	in := p.lake.store
	unlock, err := in.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if there, err = p.isThere(ctx); err != nil || there != nil {
		return there, err
	}
	text, err := p.name(files)
	if err != nil {
		return nil, err
	}
	former, there, err := p.begin(ctx, s, text)
	if err != nil || there != nil {
		return there, err
	}
	steps := make([]func() error, 0, len(files)+3)
	for i := range files[:len(files)-1] {
		steps = append(steps, func() error { return in.put(ctx, &files[i]) })
	}
	steps = append(steps,
		func() error { return p.removeFormer(ctx, former) },
		func() error { return p.putManifest(ctx, s, text) },
		func() error { return in.put(ctx, &files[len(files)-1]) },
	)
	for _, do := range steps {
		gaveWay := do()
		if gaveWay != nil && !errors.Is(gaveWay, errChanged) {
			return nil, gaveWay
		}
		if there, err := p.holdClaim(ctx, text); err != nil || there != nil {
			return there, err
		}
		if gaveWay != nil { // and somebody who publishes the same has claimed it since
			return nil, p.lost()
		}
	}
	return nil, in.remove(ctx, begunName(p.id))
}

// name gives the files their names, and returns the text of the manifest.
func (p *publishing) name(files []stagedFile) ([]byte, error) {
	last := len(files) - 1
	p.manifest.Row, p.manifest.Files = files[last].File, []File{}
	for i := range files[:last] {
		p.manifest.Files = append(p.manifest.Files, files[i].File)
	}
	if err := p.manifest.nameByContent(); err != nil {
		return nil, err
	}
	for i, f := range append(slices.Clone(p.manifest.Files), p.manifest.Row) {
		files[i].File, files[i].anew = f, p.request.Replace
	}
	return encode(&p.manifest)
}

// putManifest puts the manifest there as long as the claim is held. Else it returns an error that wraps errChanged.
func (p *publishing) putManifest(ctx context.Context, s *staging, text []byte) error {
	for {
		// Read before the claim is looked at, it is not that of somebody who has claimed the recording since.
		_, was, err := readManifestText(ctx, p.lake.store, p.id)
		if err != nil && !errors.Is(err, ErrManifest) {
			return err
		}
		if held, _, err := p.holdsClaim(ctx); err != nil || !held {
			return errors.Join(err, errChanged)
		}
		f, err := s.text(manifestName(p.id), text)
		if err != nil {
			return err
		}
		if err := p.lake.store.swap(ctx, f, was); !errors.Is(err, errChanged) {
			return err
		}
	}
}

// holdsClaim tells whether the claim is that of this publication, and what it is.
func (p *publishing) holdsClaim(ctx context.Context) (bool, *claim, error) {
	now, _, err := readClaim(ctx, p.lake.store, p.id)
	if errors.Is(err, ErrManifest) {
		err = nil
	}
	return now != nil && now.Publication == p.manifest.Publication, now, err
}

// maxClaims is how often a claim is attempted that somebody else changes at the same time.
const maxClaims = 10

// begin claims the recording and takes away what is visible of it, unless that is the same. It returns the files that
// there may have been before, or the manifest of somebody who has published it meanwhile.
func (p *publishing) begin(ctx context.Context, s *staging, text []byte) (former []string, there *manifest, err error) {
	in := p.lake.store
	for range maxClaims {
		before, was, unreadable := (*claim)(nil), []byte(nil), false
		if before, was, err = readClaim(ctx, in, p.id); err != nil && !errors.Is(err, ErrManifest) {
			return nil, nil, err
		}
		unreadable = err != nil
		old, err := readManifest(ctx, in, p.id)
		if err != nil && !errors.Is(err, ErrManifest) {
			return nil, nil, err
		}
		if former, err = p.formerFiles(ctx, before, old, unreadable || err != nil); err != nil {
			return nil, nil, err
		}
		mine, err := p.claim(ctx, s, former, was)
		if errors.Is(err, errChanged) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		// Somebody may have ended before the claim.
		if there, err = p.isThere(ctx); err != nil || there != nil {
			return nil, there, errors.Join(err, p.giveClaimBack(ctx, s, mine, was))
		}
		if old != nil {
			if same, err := encode(old); err != nil || bytes.Equal(same, text) {
				return former, nil, err
			}
		}
		return former, nil, p.hide(ctx, former)
	}
	return nil, nil, p.lost()
}

// formerFiles are those that a claim and a manifest name or, if one cannot be read, all that there are.
func (p *publishing) formerFiles(ctx context.Context, before *claim, old *manifest, unreadable bool) ([]string, error) {
	var former []string
	if before != nil {
		former = slices.Concat(before.Files, before.Former)
	}
	if old != nil {
		former = append(former, old.names()...)
	}
	if unreadable {
		for _, table := range Tables() {
			names, err := p.lake.store.walk(ctx, table.Name)
			if err != nil {
				return nil, err
			}
			former = append(former, slices.DeleteFunc(names, func(name string) bool { return !isFileOf(name, p.id) })...)
		}
	}
	slices.Sort(former)
	return slices.Compact(former), nil
}

// claim puts the claim in place of what was there, and returns its text.
func (p *publishing) claim(ctx context.Context, s *staging, former []string, was []byte) ([]byte, error) {
	mine, err := encode(claim{Publication: p.manifest.Publication, Files: p.manifest.names(), Former: former})
	if err != nil {
		return nil, err
	}
	f, err := s.text(begunName(p.id), mine)
	if err != nil {
		return nil, err
	}
	return mine, p.lake.store.swap(ctx, f, was)
}

// giveClaimBack has the claim be what it was, unless somebody else has one by now.
func (p *publishing) giveClaimBack(ctx context.Context, s *staging, mine, was []byte) error {
	if was == nil {
		if _, now, err := readClaim(ctx, p.lake.store, p.id); err != nil || !bytes.Equal(now, mine) {
			return err
		}
		return p.lake.store.remove(ctx, begunName(p.id))
	}
	f, err := s.text(begunName(p.id), was)
	if err != nil {
		return err
	}
	if err := p.lake.store.swap(ctx, f, mine); !errors.Is(err, errChanged) {
		return err
	}
	return nil
}

// hide takes away what makes the recording visible. The manifest stays until there is another: somebody else may have
// put it there meanwhile.
func (p *publishing) hide(ctx context.Context, former []string) error {
	for _, name := range former {
		if strings.HasPrefix(name, TableRecording+"/") {
			if err := p.lake.store.remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeFormer removes the files of a former publishing that this one has not.
func (p *publishing) removeFormer(ctx context.Context, former []string) error {
	return p.removeBut(ctx, former, p.manifest.names())
}

func (p *publishing) removeBut(ctx context.Context, names, kept []string) error {
	for _, name := range names {
		if !slices.Contains(kept, name) {
			if err := p.lake.store.remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// holdClaim looks whether somebody else has claimed the recording since. If so, it returns the manifest of that if it
// is the same, or takes away what this publisher has put into the lake and returns an error that wraps ErrPublished.
func (p *publishing) holdClaim(ctx context.Context, text []byte) (there *manifest, err error) {
	in := p.lake.store
	held, now, err := p.holdsClaim(ctx)
	if err != nil || held {
		return nil, err
	}
	var kept []string
	if now != nil {
		kept = now.Files
	}
	m, err := readManifest(ctx, in, p.id)
	if err != nil && !errors.Is(err, ErrManifest) {
		return nil, err
	}
	if m != nil {
		same, err := encode(m)
		if err != nil {
			return nil, err
		}
		if now == nil && bytes.Equal(same, text) {
			if has, err := in.has(ctx, m.Row.Name); err != nil || has {
				return m, err
			}
		}
		if !bytes.Equal(same, text) {
			kept = append(kept, m.names()...)
		}
	}
	// The row first: nobody is to see it without its files.
	names := p.manifest.names()
	slices.Reverse(names)
	return nil, errors.Join(p.lost(), p.removeBut(ctx, names, kept))
}

// lost is the error of a publisher that gives way to another.
func (p *publishing) lost() error {
	return fmt.Errorf("%w: somebody else publishes %s at the same time; publish again when that has ended", ErrPublished, p.id)
}

// forgetClaim removes the claim of a publisher that was broken off when all but that was done.
func (p *publishing) forgetClaim(ctx context.Context, there *manifest) error {
	unlock, err := p.lake.store.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	left, _, err := readClaim(ctx, p.lake.store, p.id)
	if err != nil && !errors.Is(err, ErrManifest) {
		return err
	}
	if left == nil || left.Publication != there.Publication {
		return nil // somebody is about to replace the recording, or was
	}
	return p.lake.store.remove(ctx, begunName(p.id))
}
