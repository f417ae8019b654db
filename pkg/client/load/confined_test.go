// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// A pipeline loads manifests from a stranger's branch, as in a pull request. Symbolic links there must not lead it to
// any file outside of the paths given in its configuration, such as its secrets (L10).
func TestConfined_followsNoLinkOut_L10(t *testing.T) {
	outside, work := t.TempDir(), t.TempDir()
	t.Chdir(work)
	must.Succeed(t, errors.Join(os.WriteFile(filepath.Join(outside, "secret.yaml"), []byte("secret"), 0o600),
		os.MkdirAll("dns/below", 0o700), os.WriteFile("dns/real.yaml", []byte("real"), 0o600),
		os.Symlink("../real.yaml", "dns/below/inner.yaml"), os.Symlink(outside, "away"),
		os.Symlink("dns", "near"), os.WriteFile("beside.yaml", []byte("beside"), 0o600)))
	read := func(given string) (string, error) {
		c := &Confined{}
		var all []string
		_, err := c.EachManifest(given, nil, func(_ string, read func() ([]byte, error)) error {
			text, err := read()
			all = append(all, string(text))
			return err
		})
		return strings.Join(all, " "), err
	}
	for given, want := range map[string]string{"dns": "real real", "dns/": "real real", "./dns": "real real", "near/": "real real",
		filepath.Join(work, "dns"): "real real", "beside.yaml": "beside", filepath.Join(outside, "secret.yaml"): "secret",
		outside: "secret", "dns/below/inner.yaml": "real"} {
		if got, err := read(given); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", given, got, err, want)
		}
	}
	for link, to := range map[string]string{"dns/out.yaml": filepath.Join(outside, "secret.yaml"), "dns/beside.yaml": "../beside.yaml",
		"dns/below/zero.yaml": "/dev/zero", "dns/hops.yaml": "../away/secret.yaml", "dns/none.yaml": "nothing.yaml"} {
		must.Succeed(t, os.Symlink(to, link))
		if got, err := read("dns"); err == nil || !strings.Contains(err.Error(), link+" is a link out of dns") ||
			strings.Contains(got+err.Error(), "secret") || strings.Contains(got, "beside") {
			t.Errorf("%s to %s: %q, %v", link, to, got, err)
		}
		must.Succeed(t, os.Remove(link))
	}
	must.Succeed(t, os.Symlink(filepath.Join(outside, "secret.yaml"), "named.yaml"))
	for _, given := range []string{"away", "away/", "away/secret.yaml", "named.yaml", filepath.Join(work, "away")} {
		if got, err := read(given); err == nil || !strings.Contains(err.Error(), "leads out of the working directory") || got != "" {
			t.Errorf("%s: %q, %v", given, got, err)
		}
	}
	must.Succeed(t, os.Mkdir("dns/folder.yaml", 0o700))
	if got, err := read("dns"); err != nil || got != "real real" {
		t.Errorf("beside a directory like a manifest: %q, %v", got, err)
	}
}

func TestConfined_bounds256MiB_L10(t *testing.T) {
	c := &Confined{octets: maxText - 4}
	if text, err := c.ReadAll("-", strings.NewReader("abcd")); err != nil || string(text) != "abcd" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := c.ReadAll("more.yaml", bytes.NewReader(make([]byte, 1<<20))); err == nil || c.octets != maxText+1 ||
		!strings.Contains(err.Error(), "more.yaml: the manifests have more than 256 MiB: name fewer files") {
		t.Errorf("%v after %d octets", err, c.octets)
	}
}
