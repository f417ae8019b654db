// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"kubi.zone/kubizone/test/must"
)

// One error names the flag of each fault.
func TestOptions_areJudgedTogether(t *testing.T) {
	command := NewCommand()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetOut(io.Discard)
	command.SetArgs([]string{
		"--health-listen", "x", "--lease", "x", "--server-namespace", "a b", "--primary-service", "x", "--key-reader", "y",
		"--signer-agent-reader", "z", "--kubeconfig", "/nowhere",
	})
	err := command.ExecuteContext(t.Context())
	must.Say(t, err, "--health-listen", `--lease "x": write NAMESPACE/NAME`, `--server-namespace "a b"`, "--agent-image is required",
		`--primary-service "x"`, `--key-reader "y"`, `--signer-agent-reader "z"`, "/nowhere")
}

func TestOptions_markTheInstallation(t *testing.T) {
	o := NewOptions()
	o.AgentImage, o.ServerNamespaces, o.Lease = "registry.example/kubizone:v0", []string{"dns", "*"}, "dns-system/"+strings.Repeat("f", 52)
	c, err := o.Complete(io.Discard)
	if c.Platform.Installation != "dns-system."+strings.Repeat("f", 52) || len(c.Namespaces) != 1 || c.Namespaces[0] != "" ||
		c.Platform.ClientNamespace != "dns-system" {
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

// Each server's configuration has the addresses of the primary's Service. When a thousand servers are rendered at a
// start, the Service is read once; only a failed read is repeated.
func TestPrimaries_areReadOnce(t *testing.T) {
	cluster := fake.NewClientset()
	reads := 0
	cluster.PrependReactor("get", "services", func(ktesting.Action) (bool, runtime.Object, error) {
		reads++
		return false, nil, nil
	})
	p := &primaries{of: &Config{PrimaryService: types.NamespacedName{Namespace: "kubizone-system", Name: "primary"}}, cluster: cluster}
	if _, err := p.findAddresses(t.Context()); err == nil {
		t.Error("there is no Service, and it was found")
	}
	must.Get(cluster.CoreV1().Services("kubizone-system").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "primary"}, Spec: corev1.ServiceSpec{ClusterIPs: []string{"10.96.0.53"}, Ports: []corev1.ServicePort{{Port: 53, Protocol: corev1.ProtocolTCP}}},
	}, metav1.CreateOptions{}))(t)
	for range 1000 {
		if at, err := p.findAddresses(t.Context()); err != nil || len(at) != 1 || at[0].String() != "10.96.0.53:53" {
			t.Fatalf("%v, %v", at, err)
		}
	}
	if reads != 2 {
		t.Errorf("%d reads of the Service", reads)
	}
}
