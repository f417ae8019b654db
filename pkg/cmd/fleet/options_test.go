// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"io"
	"strings"
	"testing"
)

// TestOptions_areJudgedTogether: each fault names its flag, and all are told at once.
func TestOptions_areJudgedTogether(t *testing.T) {
	command := NewCommand()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetOut(io.Discard)
	command.SetArgs([]string{
		"--health-listen", "x", "--lease", "x", "--lease-duration", "1s", "--server-namespace", "a b", "--without", "pods", "--primary", "ns1", "--primary-service", "x", "--kubeconfig", "/nowhere",
	})
	err := command.ExecuteContext(t.Context())
	if err == nil {
		t.Fatal("it started")
	}
	for _, want := range []string{
		"--health-listen", `--lease "x": write NAMESPACE/NAME`, "--lease-duration 1s", `--server-namespace "a b"`, "--agent-image is required", `--without "pods"`, `--primary "ns1"`, `--primary-service "x"`, "--primary-service and --primary", "/nowhere",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing says %q in:\n%v", want, err)
		}
	}
}

func TestOptions_theLeaseNamesTheInstallation(t *testing.T) {
	o := NewOptions()
	o.AgentImage, o.ServerNamespaces, o.Lease = "registry.example/kubizone:v0", []string{"dns", "*"}, "dns-system/"+strings.Repeat("f", 52)
	c, err := o.Complete(io.Discard)
	if c.Platform.Installation != "dns-system."+strings.Repeat("f", 52) || len(c.Namespaces) != 1 || c.Namespaces[0] != "" || c.Platform.Clients[0] != "dns-system" {
		t.Errorf("%+v", c)
	}
	if err != nil && strings.Contains(err.Error(), "--lease") {
		t.Error(err)
	}
	o.Lease += "g"
	if _, err := o.Complete(io.Discard); err == nil || !strings.Contains(err.Error(), "62 characters") {
		t.Errorf("a Lease that fits no label: %v", err)
	}
}
