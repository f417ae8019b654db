// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"kubi.zone/kubizone/test/must"
)

// A wrong flag, or one that another flag needs, is refused with its name and the right form. The webhook listens on
// loopback addresses only, because it does not authenticate its clients (E5).
func TestComplete_refusesWrongFlags(t *testing.T) {
	config := must.WriteKubeconfig(t, "https://127.0.0.1:1")
	for arguments, want := range map[string]string{
		"":                 "",
		"--listen [::1]:0": "",
		"--cluster paris --local-kubeconfig " + config: "",
		"--listen 0.0.0.0:8888":                        "loopback",
		"--listen :8888":                               "loopback",
		"--owner a.b":                                  "--owner",
		"--owner A":                                    "--owner",
		"--namespace-template x-{namespace}":           "--cluster",
		"--cluster p_ --local-kubeconfig " + config:    "--cluster",
		"--cluster paris --namespace-template x --local-kubeconfig " + config: "{namespace}",
		"--cluster paris": "--local-kubeconfig",
		"--cluster paris --local-kubeconfig " + filepath.Join(config, "not-there"): "--local-kubeconfig",
	} {
		options, flags := NewOptions(), pflag.NewFlagSet("", pflag.ContinueOnError)
		options.AddFlags(flags)
		must.Succeed(t, flags.Parse(strings.Fields("--kubeconfig "+config+" "+arguments)))
		_, err := options.Complete(io.Discard)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}
