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
	"strings"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/webhookserver"
)

// Config of a Backend.
type Config struct {
	// Files has the zones and where each one's file is. The files are there; their modes are kept.
	Files map[name.Name]string
	// Check is a program and its first arguments; the zone and a file follow. Where it fails, the file is not taken.
	// Empty: nothing is checked.
	Check []string
	// Reload is a program and its first arguments; the zone follows. Empty: the name server looks for itself.
	Reload []string
}

// commandTimeout bounds Check and Reload.
const commandTimeout = 30 * time.Second

// Backend is a webhookserver.Backend.
type Backend struct {
	config Config
	zones  map[name.Name]*zone
}

type zone struct {
	name name.Name
	path string

	mu sync.Mutex
	// loaded: the file as it is was handed to the name server.
	loaded bool
}

var _ webhookserver.Backend = (*Backend)(nil)

// New makes a Backend of files that are there.
func New(config Config) (*Backend, error) {
	b := &Backend{config: config, zones: map[name.Name]*zone{}}
	var wrong []error
	for zoneName, path := range config.Files {
		// A link is followed now: to rename over it would leave the file behind it as it is.
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			real, err = filepath.Abs(real)
		}
		z := &zone{name: zoneName, path: real}
		if err == nil {
			_, err = z.read()
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

func (z *zone) read() (content, error) {
	text, err := os.ReadFile(z.path)
	if err != nil {
		return content{}, err
	}
	c, err := parse(z.name, text)
	if err != nil {
		return c, fmt.Errorf("%s: %w", z.path, err)
	}
	return c, nil
}

// Apply writes the file once for all sets, or where they do not pass the check together, once for each.
func (b *Backend) Apply(ctx context.Context, zoneName name.Name, sets []protocol.RRset) []error {
	results := make([]error, len(sets))
	z, ok := b.zones[zoneName]
	if !ok {
		for i := range results {
			results[i] = webhookserver.UnknownZone(zoneName)
		}
		return results
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	applied, err := b.apply(ctx, z, sets, results)
	if err != nil && len(applied) > 1 && errors.As(err, new(*checkError)) {
		for _, i := range applied {
			one := results[i : i+1]
			if _, err := b.apply(ctx, z, sets[i:i+1], one); err != nil {
				one[0] = err
			}
		}
		return results
	}
	if err != nil {
		for _, i := range applied {
			results[i] = err
		}
	}
	return results
}

// apply returns which of sets are well; the error is then for all of these. Those that are not have theirs in results.
func (b *Backend) apply(ctx context.Context, z *zone, sets []protocol.RRset, results []error) (applied []int, err error) {
	c, err := z.read()
	changed := false
	for i, set := range sets {
		if err == nil {
			var differs bool
			if c, differs, results[i] = c.with(set); results[i] != nil {
				continue
			}
			changed = changed || differs
		}
		applied = append(applied, i)
	}
	if err != nil {
		return applied, err
	}
	if changed {
		if err := b.write(ctx, z, c); err != nil {
			return applied, err
		}
		z.loaded = false
	}
	if !z.loaded && len(applied) > 0 {
		if err := b.reload(ctx, z); err != nil {
			return applied, err
		}
		z.loaded = true
	}
	return applied, nil
}

// checkError: the file as a whole would not load.
type checkError struct{ error }

func (b *Backend) write(ctx context.Context, z *zone, c content) (err error) {
	if c, err = c.next(); err != nil {
		return fmt.Errorf("%s: %w", z.path, err)
	}
	text, err := c.write()
	if err != nil {
		return err
	}
	info, err := os.Stat(z.path)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(z.path), "."+filepath.Base(z.path)+".*")
	if err != nil {
		return err
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
		return err
	}
	if len(b.config.Check) > 0 {
		if err := run(ctx, b.config.Check, z.name.String(), file.Name()); err != nil {
			return &checkError{fmt.Errorf("zone %s would not load: %w", z.name, err)}
		}
	}
	if err = os.Rename(file.Name(), z.path); err != nil {
		return err
	}
	// A power cut must not bring the old file back after the answer.
	dir, err := os.Open(filepath.Dir(z.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (b *Backend) reload(ctx context.Context, z *zone) error {
	if len(b.config.Reload) == 0 {
		return nil
	}
	if err := run(ctx, b.config.Reload, z.name.String()); err != nil {
		return fmt.Errorf("zone %s is written and not loaded: %w", z.name, err)
	}
	return nil
}

// run starts a program without a shell.
func run(ctx context.Context, command []string, more ...string) error {
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

// Read reads the file.
func (b *Backend) Read(_ context.Context, zoneName, owner name.Name, t rdata.Type) (protocol.RRset, error) {
	z, ok := b.zones[zoneName]
	if !ok {
		return protocol.RRset{}, webhookserver.UnknownZone(zoneName)
	}
	c, err := z.read()
	if err != nil {
		return protocol.RRset{}, err
	}
	return c.rrset(zoneName, owner, t), nil
}

// Health reads all files.
func (b *Backend) Health(context.Context) error {
	var wrong []error
	for _, z := range b.zones {
		if _, err := z.read(); err != nil {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}
