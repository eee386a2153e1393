package lake

import (
	"bytes"
	"context"
	"errors"
	"slices"
)

// commit puts the files into the lake, the last one, which makes the recording visible, after the manifest. Each step
// leaves the lake so that a publisher that begins anew completes it:
//
//  1. a list of all files of the recording that may be there from now on,
//  2. what is visible of the recording is taken away,
//  3. the files, 4. without those of a former publishing that this one has not,
//  5. the manifest, 6. the row of the recording, 7. the list is removed.
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
	row := &files[len(files)-1]
	files = files[:len(files)-1]
	p.manifest.Row, p.manifest.Files = row.File, []File{}
	for i := range files {
		p.manifest.Files = append(p.manifest.Files, files[i].File)
	}
	text, err := encode(&p.manifest)
	if err != nil {
		return nil, err
	}
	former, err := p.begin(ctx, s, text)
	if err != nil {
		return nil, err
	}
	for i := range files {
		if err := in.put(ctx, &files[i]); err != nil {
			return nil, err
		}
	}
	for _, name := range former {
		if !slices.Contains(p.manifest.names(), name) {
			if err := in.remove(ctx, name); err != nil {
				return nil, err
			}
		}
	}
	if err := p.putText(ctx, s, manifestName(p.id), text); err != nil {
		return nil, err
	}
	if err := in.put(ctx, row); err != nil {
		return nil, err
	}
	return nil, in.remove(ctx, begunName(p.id))
}

func (p *publishing) putText(ctx context.Context, s *staging, name string, text []byte) error {
	f, err := s.text(name, text)
	if err != nil {
		return err
	}
	return p.lake.store.put(ctx, f)
}

// begin notes which files there may be, and takes away what is visible, unless that is the same. It returns the files
// that there may have been before.
func (p *publishing) begin(ctx context.Context, s *staging, text []byte) (former []string, err error) {
	in := p.lake.store
	former, err = readBegun(ctx, in, p.id)
	if err != nil && !errors.Is(err, ErrManifest) {
		return nil, err
	}
	old, err := readManifest(ctx, in, p.id)
	if err != nil && !errors.Is(err, ErrManifest) {
		return nil, err
	}
	if old != nil {
		former = append(former, old.names()...)
	}
	all := append(slices.Clone(former), p.manifest.names()...)
	slices.Sort(all)
	list, err := encode(slices.Compact(all))
	if err != nil {
		return nil, err
	}
	if err := p.putText(ctx, s, begunName(p.id), list); err != nil {
		return nil, err
	}
	if old == nil {
		return former, nil
	}
	if same, err := encode(old); err != nil || bytes.Equal(same, text) {
		return former, err
	}
	if err := in.remove(ctx, old.Row.Name); err != nil {
		return nil, err
	}
	return former, in.remove(ctx, manifestName(p.id))
}
