// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Dig is BIND's dig, which shares no code with the server under test.
type Dig struct {
	Server netip.AddrPort
	Key    *TSIGKey // nil: unsigned
}

// Run returns dig's output. Only a missing answer is an error.
func (d Dig) Run(ctx context.Context, args ...string) (string, error) {
	dig, err := Find("dig", installBIND)
	if err != nil {
		return "", err
	}
	all := []string{"@" + d.Server.Addr().String(), "-p", strconv.Itoa(int(d.Server.Port()))}
	if d.Key != nil {
		dir, err := os.MkdirTemp("", "kubizone-dig-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, "key")
		if err := os.WriteFile(file, []byte(d.Key.Statement()), 0o600); err != nil {
			return "", err
		}
		all = append(all, "-k", file)
	}
	return runProgram(ctx, "", "", dig, append(all, args...)...)
}

// Serial returns the zone's SOA serial; ok is false without a zone. By default, no answer within a second is an error.
func (d Dig) Serial(ctx context.Context, zone string, options ...string) (serial uint32, ok bool, err error) {
	out, err := d.Run(ctx, slices.Concat([]string{"+short", "+norecurse", "+tries=1", "+time=1"}, options, []string{"SOA", zone})...)
	if err != nil {
		return 0, false, err
	}
	fields := strings.Fields(out)
	if len(fields) != 7 {
		return 0, false, nil
	}
	_, err = fmt.Sscan(fields[2], &serial)
	return serial, err == nil, err
}

func (d Dig) Transfer(ctx context.Context, zone string) ([]string, error) {
	text, err := d.Run(ctx, "+tcp", "+onesoa", "+nocomments", "+nostats", "+nocmd", "AXFR", zone)
	if err != nil {
		return nil, err
	}
	return Canonical(ctx, zone, text)
}

func (d Dig) Serials(ctx context.Context, zones []string) (map[string]uint32, error) {
	out, err := d.askEach(ctx, zones, "+noall", "+answer", "+norecurse", "+tries=1", "+time=2", "SOA")
	if err != nil {
		return nil, err
	}
	serials := map[string]uint32{}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 11 && f[3] == "SOA" {
			n, err := strconv.ParseUint(f[6], 10, 32)
			if err != nil {
				return nil, err
			}
			serials[f[0]] = uint32(n)
		}
	}
	return serials, nil
}

func (d Dig) Transfers(ctx context.Context, zones []string) (map[string]string, error) {
	out, err := d.askEach(ctx, zones, "+tcp", "+tries=1", "+nocomments", "+nostats", "+nocmd", "AXFR")
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	var zone string
	var text strings.Builder
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 4 && f[3] == "SOA" && f[2] == "IN" {
			if f[0] == zone { // the closing SOA
				texts[zone], zone = text.String(), ""
				continue
			}
			zone = f[0]
			text.Reset()
		} else if strings.HasPrefix(line, "; Transfer failed") {
			zone = ""
		}
		text.WriteString(line)
	}
	return texts, nil
}

func (d Dig) Notify(ctx context.Context, zones []string) error {
	_, err := d.askEach(ctx, zones, "+opcode=notify", "+noall", "+aaflag", "+norecurse", "+tries=3", "+time=2", "SOA")
	return err
}

func (d Dig) askEach(ctx context.Context, zones []string, args ...string) (string, error) {
	dir, err := os.MkdirTemp("", "kubizone-dig-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "questions")
	var questions strings.Builder
	for _, zone := range zones {
		fmt.Fprintln(&questions, strings.Join(args, " "), zone)
	}
	if err := os.WriteFile(file, []byte(questions.String()), 0o600); err != nil {
		return "", err
	}
	return d.Run(ctx, "-f", file)
}

// Delv validates the answer from the trust anchors in a file (named.conf syntax).
func Delv(ctx context.Context, server netip.AddrPort, anchors string, args ...string) (string, error) {
	delv, err := Find("delv", installBIND)
	if err != nil {
		return "", err
	}
	// For a bogus answer, delv writes to standard error and exits with 0.
	out, err := exec.CommandContext(ctx, delv, append([]string{"@" + server.Addr().String(), "-p", strconv.Itoa(int(server.Port())), "-a", anchors}, args...)...).CombinedOutput()
	return string(out), err
}

// Nsupdate sends by TCP: nsupdate gives up after three seconds of UDP. A refused update is an error.
func Nsupdate(ctx context.Context, server netip.AddrPort, key *TSIGKey, script string) (string, error) {
	nsupdate, err := Find("nsupdate", installBIND)
	if err != nil {
		return "", err
	}
	args := []string{"-v", "-t", "30"}
	if key != nil {
		dir, err := os.MkdirTemp("", "kubizone-nsupdate-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, "key")
		if err := os.WriteFile(file, []byte(key.Statement()), 0o600); err != nil {
			return "", err
		}
		args = append(args, "-k", file)
	}
	return runProgram(ctx, "", fmt.Sprintf("server %s %d\n%s", server.Addr(), server.Port(), script), nsupdate, args...)
}

// Canonical returns a master file's records, sorted, in named-compilezone's form. It checks syntax, not integrity.
func Canonical(ctx context.Context, zone, text string) ([]string, error) {
	compile, err := Find("named-compilezone", installBIND)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kubizone-zone-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if message, err := runProgram(ctx, dir, "", compile, "-i", "none", "-k", "ignore", "-m", "ignore", "-n", "ignore", "-r", "ignore",
		"-M", "ignore", "-S", "ignore", "-s", "full", "-o", out, zone, in); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, message)
	}
	compiled, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(string(compiled)), "\n")
	for i, l := range lines {
		lines[i] = oneSpaced(l)
	}
	slices.Sort(lines)
	return lines, nil
}

func oneSpaced(line string) string {
	parts := make([]string, 0, 5)
	for range 4 {
		field, rest, _ := strings.Cut(strings.TrimLeft(line, " \t"), " ")
		if tabbed, after, ok := strings.Cut(field, "\t"); ok {
			field, rest = tabbed, after+" "+rest
		}
		parts, line = append(parts, field), rest
	}
	return strings.Join(append(parts, strings.TrimLeft(line, " \t")), " ")
}

func runProgram(ctx context.Context, dir, stdin, path string, args ...string) (string, error) {
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, strings.NewReader(stdin), &out, &complaint
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", filepath.Base(path), errors.Join(err, ctx.Err()), strings.TrimSpace(complaint.String()+out.String()))
	}
	return out.String(), err
}
