// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package masterfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"kubi.zone/kubizone/cmd/webhook-server/server"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

type Config struct {
	// Files are the existing files by zone. Their modes are kept.
	Files map[name.Name]string
	// Check is a command that fails for a bad file. Its last arguments are zone and file. Optional.
	Check []string
	// Reload is a command with the zone as its last argument; nil if the name server reloads by itself.
	Reload []string
}

const commandTimeout = 30 * time.Second

type Backend struct {
	config Config
	zones  map[name.Name]*zone
}

type zone struct {
	name name.Name
	path string

	mu     sync.Mutex
	loaded bool
}

var _ server.Backend = (*Backend)(nil)

func New(config Config) (*Backend, error) {
	b := &Backend{config: config, zones: map[name.Name]*zone{}}
	var wrong []error
	for zoneName, path := range config.Files {
		// A rename would replace a symbolic link.
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			real, err = filepath.Abs(real)
		}
		z := &zone{name: zoneName, path: real}
		if err == nil {
			_, err = z.readFile()
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("zone %s: %w", zoneName, err))
		}
		b.zones[zoneName] = z
	}
	if len(config.Files) == 0 {
		wrong = append(wrong, errors.New("no zone file: name at least one"))
	}
	return b, errors.Join(wrong...)
}

func (z *zone) readFile() (content, error) {
	text, err := os.ReadFile(z.path)
	if err != nil {
		return content{}, err
	}
	c, err := parseContent(z.name, text)
	if err != nil {
		return c, fmt.Errorf("%s: %w", z.path, err)
	}
	return c, nil
}

// Apply writes the file once, with all sets that pass the check together. A bad set does not stop the others.
func (b *Backend) Apply(ctx context.Context, zoneName name.Name, sets []protocol.RRset) []error {
	results := make([]error, len(sets))
	z, ok := b.zones[zoneName]
	if !ok {
		for i := range results {
			results[i] = server.UnknownZoneError(zoneName)
		}
		return results
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	if err := b.applySets(ctx, z, sets, results); err != nil {
		for i := range results {
			if results[i] == nil {
				results[i] = err
			}
		}
	}
	return results
}

// applySets writes errors of single sets to results, and returns an error for all others.
func (b *Backend) applySets(ctx context.Context, z *zone, sets []protocol.RRset, results []error) error {
	was, err := z.readFile()
	if err != nil {
		return err
	}
	s := &bisection{b: b, z: z, sets: sets, results: results, accepted: was}
	if s.next, err = was.withNextSerial(); err != nil {
		return fmt.Errorf("%s: %w", z.path, err)
	}
	defer s.dropFile()
	which := make([]int, len(sets))
	for i := range sets {
		which[i] = i
	}
	refused, err := s.bisectSets(ctx, which)
	// A refused set may need a later set, as an MX needs the address of its host.
	for err == nil && len(refused) > 0 && s.file != "" {
		before := len(refused)
		if refused, err = s.bisectSets(ctx, refused); len(refused) == before {
			break
		}
	}
	if err == nil && len(refused) > 0 && s.file == "" {
		if fault := b.checkContent(ctx, z, was); fault != nil {
			for _, i := range refused {
				results[i] = fmt.Errorf("the file as it is, before any change: %w", fault)
			}
		}
	}
	if err != nil {
		return err
	}
	if s.file != "" {
		if err := s.replaceFile(); err != nil {
			return err
		}
		z.loaded = false
	}
	if !z.loaded && slices.Contains(results, nil) {
		if err := b.reloadZone(ctx, z); err != nil {
			return err
		}
		z.loaded = true
	}
	return nil
}

type bisection struct {
	b              *Backend
	z              *zone
	sets           []protocol.RRset
	results        []error
	accepted, next content
	file           string
}

// bisectSets accepts the sets at the given indices if they pass the check together, and otherwise tries both halves. It
// returns the indices of the sets that fail alone.
func (s *bisection) bisectSets(ctx context.Context, indices []int) (refused []int, err error) {
	candidate := s.accepted
	changed := false
	var valid []int
	for _, i := range indices {
		var differs bool
		candidate, differs, s.results[i] = candidate.withRRset(s.sets[i])
		if s.results[i] == nil {
			valid = append(valid, i)
			changed = changed || differs
		}
	}
	if !changed {
		return nil, nil
	}
	candidate.soa = s.next.soa
	file, err := s.b.stageFile(ctx, s.z, candidate)
	var fault *checkError
	switch {
	case err == nil:
		s.dropFile()
		s.accepted, s.file = candidate, file
		return nil, nil
	case !errors.As(err, &fault):
		return nil, err
	case len(valid) == 1:
		s.results[valid[0]] = protocol.Refuse(protocol.CodeInvalidRecord, "%v", fault)
		return valid, nil
	}
	// The check fails for the sets together: try both halves.
	first, err := s.bisectSets(ctx, valid[:len(valid)/2])
	if err != nil {
		return nil, err
	}
	second, err := s.bisectSets(ctx, valid[len(valid)/2:])
	return append(first, second...), err
}

func (s *bisection) dropFile() {
	if s.file != "" {
		os.Remove(s.file)
		s.file = ""
	}
}

func (s *bisection) replaceFile() error {
	if err := os.Rename(s.file, s.z.path); err != nil {
		return err
	}
	s.file = ""
	// Sync the directory, so that a power failure does not restore the old file.
	dir, err := os.Open(filepath.Dir(s.z.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

type checkError struct{ error }

func (b *Backend) checkContent(ctx context.Context, z *zone, c content) error {
	file, err := b.stageFile(ctx, z, c)
	if err == nil {
		os.Remove(file)
	}
	return err
}

func (b *Backend) stageFile(ctx context.Context, z *zone, c content) (path string, err error) {
	text, err := c.marshal()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(z.path)
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp(filepath.Dir(z.path), "."+filepath.Base(z.path)+".*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	_, err = file.Write(text)
	if err == nil {
		err = file.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	if len(b.config.Check) == 0 {
		return file.Name(), nil
	}
	err = runProgram(ctx, b.config.Check, z.name.String(), file.Name())
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited():
		return "", &checkError{fmt.Errorf("zone %s would not load: %w", z.name, err)}
	case err != nil:
		return "", fmt.Errorf("zone %s cannot be checked: %w", z.name, err)
	}
	return file.Name(), nil
}

func (b *Backend) reloadZone(ctx context.Context, z *zone) error {
	if len(b.config.Reload) == 0 {
		return nil
	}
	if err := runProgram(ctx, b.config.Reload, z.name.String()); err != nil {
		return fmt.Errorf("zone %s is written and not loaded: %w", z.name, err)
	}
	return nil
}

func runProgram(ctx context.Context, command []string, more ...string) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	started := exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], more...)...)
	started.WaitDelay = time.Second
	if out, err := started.CombinedOutput(); err != nil {
		const most = 1000
		text := strings.TrimSpace(string(out))
		return fmt.Errorf("%s: %w: %s", command[0], err, text[max(0, len(text)-most):])
	}
	return nil
}

func (b *Backend) Read(_ context.Context, zoneName, owner name.Name, t rdata.Type) (protocol.RRset, error) {
	z, ok := b.zones[zoneName]
	if !ok {
		return protocol.RRset{}, server.UnknownZoneError(zoneName)
	}
	c, err := z.readFile()
	if err != nil {
		return protocol.RRset{}, err
	}
	return c.findRRset(zoneName, owner, t), nil
}

func (b *Backend) Health(context.Context) error {
	var wrong []error
	for _, z := range b.zones {
		if _, err := z.readFile(); err != nil {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}
