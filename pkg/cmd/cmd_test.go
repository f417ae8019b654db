// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apiserver"
)

func run(arguments ...string) (code int, out, errors string) {
	var o, e bytes.Buffer
	code = Main(arguments, &o, &e)
	return code, o.String(), e.String()
}

func TestMain_printsVersionAndHelp(t *testing.T) {
	code, out, _ := run("version")
	if code != 0 || !strings.HasPrefix(out, "kubizone v"+apiserver.Version+" ") {
		t.Errorf("version: %d %q", code, out)
	}
	code, out, _ = run()
	if code != 0 || !strings.Contains(out, "up ") || !strings.Contains(out, "version ") {
		t.Errorf("help: %d %q", code, out)
	}
}

// C2
func TestMain_saysAnErrorOnceWithoutUsage(t *testing.T) {
	for _, tc := range []struct {
		arguments []string
		next      string
	}{
		{[]string{"up", "--listen", "nowhere"}, "write an address and a port"},
		{[]string{"up", "stray"}, `"stray" is none; kubizone up --help lists them`},
		{[]string{"export"}, "kubizone export ZONE [flags]; kubizone export --help says more"},
		{[]string{"import"}, "kubizone import FILE"},
		{[]string{"down"}, "kubizone --help lists the commands"},
		{[]string{"up", "--no-such-flag"}, "kubizone up --help lists the flags"},
		{[]string{"--no-such-flag"}, "kubizone --help lists the flags"},
		{[]string{"export", "zone", "--kubeconfig", "/no/such/file"}, "--kubeconfig: "},
	} {
		arguments := tc.arguments
		code, out, errors := run(arguments...)
		if !strings.Contains(errors, tc.next) {
			t.Errorf("%v: %q has no next step %q", arguments, errors, tc.next)
		}
		if code != 1 || out != "" || !strings.HasPrefix(errors, "kubizone: ") || strings.Contains(errors, "Usage:") || strings.Count(errors, "kubizone: ") != 1 {
			t.Errorf("%v: %d %q %q", arguments, code, out, errors)
		}
	}
}

// C4
func TestLog_isQuietUnlessAsked(t *testing.T) {
	said := func(verbosity int) string {
		var to bytes.Buffer
		if err := quiet(&to, verbosity); err != nil {
			t.Fatal(err)
		}
		klog.Info("information")
		klog.V(2).Info("detail")
		klog.Warning("warning")
		klog.Error("error")
		klog.Flush()
		return to.String()
	}
	if got := said(0); strings.Contains(got, "information") || strings.Contains(got, "detail") || strings.Count(got, "warning\n") != 1 || strings.Count(got, "error\n") != 1 {
		t.Errorf("quiet:\n%s", got)
	}
	if got := said(2); strings.Count(got, "information\n") != 1 || strings.Count(got, "detail\n") != 1 || strings.Count(got, "warning\n") != 1 {
		t.Errorf("with -v=2:\n%s", got)
	}
}
