// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/bind9/install"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var fleetRules = FleetRules{Repositories: []string{"docker.io/internetsystemsconsortium/bind9", "registry.example:5000/dns/"}}

func newCluster(change func(*bind9.Bind9ClusterSpec)) *bind9.Bind9Cluster {
	cluster := &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge", Namespace: "dns", ResourceVersion: "1"}, Spec: bind9.Bind9ClusterSpec{
		Primary: &bind9.RoleSettings{Replicas: 2}, Secondary: &bind9.RoleSettings{Replicas: 3},
	}}
	if change != nil {
		change(&cluster.Spec)
	}
	install.SetObjectDefaults_Bind9Cluster(cluster)
	return cluster
}

func newInstance(change func(*bind9.Bind9InstanceSpec)) *bind9.Bind9Instance {
	instance := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Name: "edge-primary-0", Namespace: "dns", ResourceVersion: "1"}, Spec: bind9.Bind9InstanceSpec{
		Role: bind9.RolePrimary, ClusterRef: &bind9.ClusterReference{Name: "edge"},
	}}
	if change != nil {
		change(&instance.Spec)
	}
	install.SetObjectDefaults_Bind9Instance(instance)
	return instance
}

func makeExternal(change func(*bind9.ExternalServer)) func(*bind9.Bind9InstanceSpec) {
	return func(s *bind9.Bind9InstanceSpec) {
		s.ClusterRef = nil
		s.External = &bind9.ExternalServer{Address: "192.0.2.1", AgentURL: "https://192.0.2.1:8443", TokenSecretRef: &bind9.SecretKeyReference{Name: "token", Key: "token"}}
		if change != nil {
			change(s.External)
		}
	}
}

// S11.3, S11.4, S11.5: each fault is refused alone, at its field.
func TestBind9Cluster_judges_S11_3(t *testing.T) {
	config := func(change func(*bind9.Config)) func(*bind9.Bind9ClusterSpec) {
		return func(s *bind9.Bind9ClusterSpec) {
			s.Config = &bind9.Config{}
			change(s.Config)
		}
	}
	image := func(repository, tag, digest string) func(*bind9.Bind9ClusterSpec) {
		return func(s *bind9.Bind9ClusterSpec) {
			s.Image = &bind9.Image{Repository: repository, Tag: tag, Digest: digest}
		}
	}
	sha := "sha256:" + strings.Repeat("0a", 32)
	for _, test := range []struct {
		change func(*bind9.Bind9ClusterSpec)
		want   string // field and word of the message; empty: valid
	}{
		{nil, ""},
		{func(s *bind9.Bind9ClusterSpec) { s.Version = "9.18" }, ""},
		{func(s *bind9.Bind9ClusterSpec) { s.DNSSEC = &bind9.ClusterDNSSEC{} }, "spec.dnssec.storage: Required"}, // S12.4
		{func(s *bind9.Bind9ClusterSpec) { s.Version = "9.16" }, "spec.version: Unsupported"},
		{func(s *bind9.Bind9ClusterSpec) { s.Secondary.Replicas = 101 }, "spec.secondary.replicas: Invalid"},
		{func(s *bind9.Bind9ClusterSpec) { s.Primary.Replicas = -1 }, "spec.primary.replicas: Invalid"},
		{func(s *bind9.Bind9ClusterSpec) { s.Primary.Labels = map[string]string{"dns": "public"} }, ""},
		{func(s *bind9.Bind9ClusterSpec) { s.Primary.Labels = map[string]string{bind9.LabelCluster: "x"} }, "spec.primary.labels[bind9.kubi.zone/cluster]: Forbidden"},
		{func(s *bind9.Bind9ClusterSpec) { s.Primary.Labels = map[string]string{"a b": "x"} }, "spec.primary.labels[a b]: Invalid"},
		{image("docker.io/internetsystemsconsortium/bind9", "9.20", ""), ""},
		{image("registry.example:5000/dns/bind9", "", sha), ""},
		{image("registry.example:5000/dns", "", sha), "spec.image.repository: Forbidden"},
		{image("registry.example:5000/dnsx/bind9", "", ""), "spec.image.repository: Forbidden"},
		{image("docker.io/mallory/bind9", "", ""), "spec.image.repository: Forbidden"},
		{image("registry.example:5000/dns/../mallory", "", ""), "spec.image.repository: Invalid"},
		{image("internetsystemsconsortium/bind9:9.20", "", ""), "spec.image.repository: Invalid"},
		{image("", "", ""), "spec.image.repository: Required"},
		{image("docker.io/internetsystemsconsortium/bind9", "a b", ""), "spec.image.tag: Invalid"},
		{image("docker.io/internetsystemsconsortium/bind9", "", "sha256:00"), "spec.image.digest: Invalid"},
		{func(s *bind9.Bind9ClusterSpec) {
			s.Agent = &bind9.Agent{Kind: bind9.AgentBindcar, Image: &bind9.Image{Repository: "docker.io/mallory/bindcar"}}
		}, "spec.agent.image.repository: Forbidden"},
		{func(s *bind9.Bind9ClusterSpec) { s.Agent = &bind9.Agent{Kind: "Mine"} }, "spec.agent.kind: Unsupported"},
		{config(func(c *bind9.Config) { c.AllowQuery = []string{"!192.0.2.9", "LocalHost", "10.0.0.1", "any"} }), ""},
		{config(func(c *bind9.Config) { c.AllowQuery = []string{"homes"} }), "spec.config.allowQuery[0]: Invalid"},
		{config(func(c *bind9.Config) { c.AllowTransfer = []string{"key tsig"} }), "spec.config.allowTransfer[0]: Invalid"},
		{config(func(c *bind9.Config) { c.AllowQuery = []string{"192.0.2.1/24"} }), "spec.config.allowQuery[0]: Invalid"},
		{config(func(c *bind9.Config) { c.UpdateForwarding = []string{"key dhcp"} }), "spec.config.updateForwarding[0]: Invalid"},
		{config(func(c *bind9.Config) { c.AllowQuery = []string{"any; }; include \"/etc/passwd"} }), "spec.config.allowQuery[0]: Invalid"},
		{config(func(c *bind9.Config) { c.RateLimit = &bind9.RateLimit{} }), "spec.config.rateLimit.responsesPerSecond: Invalid"},
		{func(s *bind9.Bind9ClusterSpec) { s.TSIGKey = &bind9.TSIGKey{Algorithm: "hmac-sha1"} }, "spec.tsigKey.algorithm: Unsupported"},
		{func(s *bind9.Bind9ClusterSpec) {
			s.TSIGKey = &bind9.TSIGKey{RotateAfter: &metav1.Duration{Duration: 90 * time.Second}}
		}, "spec.tsigKey.rotateAfter: Invalid"},
		{func(s *bind9.Bind9ClusterSpec) {
			s.Storage = &bind9.Storage{Type: bind9.StoragePersistentVolumeClaim}
		}, "spec.storage.capacity: Required"},
		{func(s *bind9.Bind9ClusterSpec) {
			s.Storage = &bind9.Storage{Type: bind9.StorageEmptyDir, StorageClassName: "fast"}
		}, "spec.storage.storageClassName: Forbidden"},
		{func(s *bind9.Bind9ClusterSpec) {
			s.Placement = &bind9.Placement{Tolerations: []bind9.Toleration{{Effect: bind9.TaintNoSchedule}}}
		}, "spec.placement.tolerations[0].operator: Invalid"},
		{func(s *bind9.Bind9ClusterSpec) {
			s.Primary.Service = &bind9.Service{ExternalTrafficPolicy: bind9.TrafficLocal}
		}, "spec.primary.service.externalTrafficPolicy: Forbidden"},
		{func(s *bind9.Bind9ClusterSpec) {
			s.Primary.Service = &bind9.Service{Type: bind9.ServiceLoadBalancer, LoadBalancerSourceRanges: []string{"192.0.2.1/24"}}
		}, "spec.primary.service.loadBalancerSourceRanges[0]: Invalid"},
		{func(s *bind9.Bind9ClusterSpec) {
			s.Primary.Resources = &bind9.Resources{Requests: &bind9.Amounts{CPU: "2"}, Limits: &bind9.Amounts{CPU: "1"}}
		}, "spec.primary.resources.requests.cpu: Invalid"},
		{func(s *bind9.Bind9ClusterSpec) {
			s.Primary.Resources = &bind9.Resources{Requests: &bind9.Amounts{Memory: "-1Gi"}}
		}, "spec.primary.resources.requests.memory: Invalid"},
		{func(s *bind9.Bind9ClusterSpec) {
			s.Primary.Resources = &bind9.Resources{Limits: &bind9.Amounts{Memory: "1e-1000000000"}}
		}, "spec.primary.resources.limits.memory: Invalid"},
		{func(s *bind9.Bind9ClusterSpec) {
			s.Storage = &bind9.Storage{Type: bind9.StorageEmptyDir, Capacity: "0"}
		}, "spec.storage.capacity: Invalid"},
		{func(s *bind9.Bind9ClusterSpec) {
			s.Storage = &bind9.Storage{Type: bind9.StorageEmptyDir, Capacity: "lots"}
		}, "spec.storage.capacity: Invalid"},
		{func(s *bind9.Bind9ClusterSpec) {
			s.ZoneNamespaces = &bind9.NamespaceSelection{Names: []string{"Team A"}}
		}, "spec.zoneNamespaces.names[0]: Invalid"},
	} {
		cluster := newCluster(test.change)
		errs := Bind9Cluster(cluster, nil, fleetRules)
		wantRules(t, errs)
		if test.want == "" && len(errs) > 0 || test.want != "" && (len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), test.want)) {
			t.Errorf("%+v: %v, want %q", cluster.Spec, errs, test.want)
		}
		// A stored object may keep its fault.
		changed := cluster.DeepCopy()
		changed.Labels = map[string]string{"a": "b"}
		if errs := Bind9Cluster(changed, cluster, fleetRules); len(errs) > 0 {
			t.Errorf("unchanged: %v", errs)
		}
	}
}

// S11.3.
func TestBind9Instance_judges_S11_3(t *testing.T) {
	for _, test := range []struct {
		change func(*bind9.Bind9InstanceSpec)
		want   string
	}{
		{nil, ""}, {makeExternal(nil), ""}, {func(s *bind9.Bind9InstanceSpec) { s.Replicas = ptr.To[int32](0) }, ""},
		{func(s *bind9.Bind9InstanceSpec) { s.TSIGKey = &bind9.TSIGKey{} }, "spec.tsigKey: Forbidden"},
		{func(s *bind9.Bind9InstanceSpec) { s.Role = "" }, "spec.role: Required"},
		{func(s *bind9.Bind9InstanceSpec) { s.Role = "primary" }, "spec.role: Unsupported"},
		{func(s *bind9.Bind9InstanceSpec) { s.Replicas = ptr.To[int32](2) }, "spec.replicas: Invalid"},
		{func(s *bind9.Bind9InstanceSpec) { s.ClusterRef.Name = "" }, "spec.clusterRef.name: Required"},
		{func(s *bind9.Bind9InstanceSpec) { s.ClusterRef.Name = "a/b" }, "spec.clusterRef.name: Invalid"},
		{makeExternal(func(e *bind9.ExternalServer) { e.Address = "ns1.example.net" }), "spec.external.address: Invalid"},
		{makeExternal(func(e *bind9.ExternalServer) { e.AgentURL = "http://192.0.2.1" }), "spec.external.agentURL: Invalid"},
		{makeExternal(func(e *bind9.ExternalServer) { e.AgentURL, e.AllowPlainHTTP = "http://192.0.2.1", true }), ""},
		{makeExternal(func(e *bind9.ExternalServer) { e.AgentURL = "https://user:pass@192.0.2.1" }), "spec.external.agentURL: Invalid"},
		{makeExternal(func(e *bind9.ExternalServer) { e.TokenSecretRef = nil }), "spec.external.tokenSecretRef: Required"},
		{makeExternal(func(e *bind9.ExternalServer) { e.TokenSecretRef.Key = "" }), "spec.external.tokenSecretRef.key: Required"},
		{makeExternal(func(e *bind9.ExternalServer) { e.CABundle = []byte("x") }), "spec.external.caBundle: Invalid"},
		{makeExternal(func(e *bind9.ExternalServer) { e.TSIGSecretName = "a b" }), "spec.external.tsigSecretName: Invalid"},
		{func(s *bind9.Bind9InstanceSpec) { makeExternal(nil)(s); s.Config = &bind9.Config{} }, "spec.config: Forbidden"},
		{func(s *bind9.Bind9InstanceSpec) { makeExternal(nil)(s); s.Service = &bind9.Service{} }, "spec.service: Forbidden"},
		{func(s *bind9.Bind9InstanceSpec) {
			makeExternal(nil)(s)
			s.ZoneNamespaces = &bind9.NamespaceSelection{Selector: &metav1.LabelSelector{}}
		}, ""},
	} {
		instance := newInstance(test.change)
		errs := Bind9Instance(instance, nil, fleetRules)
		wantRules(t, errs)
		if test.want == "" && len(errs) > 0 || test.want != "" && (len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), test.want)) {
			t.Errorf("%+v: %v, want %q", instance.Spec, errs, test.want)
		}
	}
	for want, change := range map[string]func(*bind9.Bind9InstanceSpec){
		"spec.role: Invalid":            func(s *bind9.Bind9InstanceSpec) { s.Role = bind9.RoleSecondary },
		"spec.clusterRef.name: Invalid": func(s *bind9.Bind9InstanceSpec) { s.ClusterRef = nil },
		"spec.external: Forbidden": func(s *bind9.Bind9InstanceSpec) {
			s.External = newInstance(makeExternal(nil)).Spec.External
		},
	} {
		errs := Bind9Instance(newInstance(change), newInstance(nil), fleetRules)
		wantRules(t, errs)
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("%v, want %s", errs, want)
		}
	}
}

// A fleet names its servers after their cluster, so the cluster's name must be a DNS label that begins with a letter
// and has at most 50 characters (S11.3). A spec above the size limit is refused with its size in octets (S11.2).
func TestFleet_namesAndSizes_S11_2_S11_3(t *testing.T) {
	for name, ok := range map[string]bool{"edge": true, strings.Repeat("a", 50): true, strings.Repeat("a", 51): false, "9lives": false, "a.b": false} {
		cluster := newCluster(nil)
		cluster.Name = name
		provider := &bind9.ClusterBind9Provider{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: bind9.ClusterBind9ProviderSpec{Bind9ClusterSpec: cluster.Spec}}
		if errs := Bind9Cluster(cluster, nil, fleetRules); (len(errs) == 0) != ok {
			t.Errorf("%s: %v", name, errs)
		}
		if errs := ClusterBind9Provider(provider, nil, fleetRules); (len(errs) == 0) != ok {
			t.Errorf("provider %s: %v", name, errs)
		}
	}
	if errs := ClusterBind9Provider(&bind9.ClusterBind9Provider{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: bind9.ClusterBind9ProviderSpec{Namespaces: []string{"a", "a"}}}, nil, fleetRules); len(errs) != 1 || errs[0].Field != "spec.namespaces[1]" {
		t.Errorf("%v", errs)
	}
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("%s-%d", strings.Repeat("n", 40), i))
	}
	cluster := newCluster(func(s *bind9.Bind9ClusterSpec) { s.ZoneNamespaces = &bind9.NamespaceSelection{Names: many} })
	if errs := Bind9Cluster(cluster, nil, fleetRules); len(errs) != 1 || errs[0].Field != "spec" || !strings.Contains(errs[0].Detail, "octets") {
		t.Errorf("%v", errs)
	}
	if errs := FleetStatusUpdate(&cluster.ObjectMeta, &cluster.ObjectMeta, []metav1.Condition{{Type: "Ready", Status: "True", Reason: "AllReady", LastTransitionTime: metav1.Now(), Message: strings.Repeat("x", 1025)}}, 17<<10, 0); len(errs) != 2 {
		t.Errorf("%v", errs)
	}
}

// S11.4: BIND agrees with each answer, except for deliberate omissions.
func TestAddressLists_areBINDs_S11_4(t *testing.T) {
	program := rig.Need(rig.Find("named-checkconf", "apt-get install bind9"))(t)
	leftOut := []string{"key tsig", "!key tsig", "geoip country DE", "10/8", "fe80::1%eth0", "{ any; }"}
	for _, entry := range append([]string{
		"any", "ANY", "none", "localhost", "localnets", "!localnets", "192.0.2.1", "!192.0.2.1", "192.0.2.0/24", "0.0.0.0/0", "192.0.2.1/32", "2001:db8::1", "2001:db8::/32",
		"::/0", "::ffff:192.0.2.1", "::ffff:192.0.2.0/120", "0.0.0.0", "192.0.2.1/24", "2001:db8::1/32", "homes", "!", "", "192.0.2.256",
		"192.0.2.0/33",
		"a b", "any;", "192.0.2.1:53", "any any",
	}, leftOut...) {
		path := filepath.Join(t.TempDir(), "named.conf")
		text := fmt.Sprintf("options { allow-query { %s; }; };\n", entry)
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		out, refused := exec.CommandContext(t.Context(), program, path).CombinedOutput()
		switch wrong := checkListEntry(entry); {
		case wrong == "" && refused != nil:
			t.Errorf("%q is taken, and BIND says %s", entry, out)
		case wrong != "" && refused == nil && entry != "" && !slices.Contains(leftOut, entry) && !strings.ContainsAny(entry, "; "):
			t.Errorf("%q is refused (%s), and BIND takes it", entry, wrong)
		}
	}
}

func TestFleet_warnings(t *testing.T) {
	for want, got := range map[string][]string{
		"no servers": Bind9ClusterWarnings(&bind9.Bind9ClusterSpec{}),
		"matches no client": Bind9ClusterWarnings(&newCluster(func(s *bind9.Bind9ClusterSpec) {
			s.Config = &bind9.Config{AllowQuery: []string{"!192.0.2.1"}}
		}).Spec),
		"over http": Bind9InstanceWarnings(&newInstance(makeExternal(func(e *bind9.ExternalServer) {
			e.AgentURL,
				e.AllowPlainHTTP = "HTTP://192.0.2.1", true
		})).Spec),
	} {
		if len(got) == 0 || !strings.Contains(got[len(got)-1], want) {
			t.Errorf("%q, want one about %s", got, want)
		}
	}
	if got := Bind9InstanceWarnings(&newInstance(makeExternal(nil)).Spec); got != nil {
		t.Errorf("%q", got)
	}
}

// S11.13: a class selects servers, never those of every team.
func TestDNSClass_bind9_S11_13(t *testing.T) {
	ref := func(namespace, name string) *v1alpha1.Bind9ClusterReference {
		return &v1alpha1.Bind9ClusterReference{Namespace: namespace, Name: name}
	}
	label := v1alpha1.Bind9InstanceSelection{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"dns": "public"}}, Namespaces: []string{"dns"}}
	in := func(namespaces ...string) v1alpha1.Bind9Provider {
		return v1alpha1.Bind9Provider{InstancesFrom: []v1alpha1.Bind9InstanceSelection{label, {Namespaces: namespaces}}, CatalogZone: "catalog.example."}
	}
	mode := func(is v1alpha1.Bind9Mode, catalog string, primaries ...string) v1alpha1.Bind9Provider {
		return v1alpha1.Bind9Provider{ClusterRef: ref("dns", "edge"), Mode: is, CatalogZone: catalog, Primaries: primaries}
	}
	for _, test := range []struct {
		block v1alpha1.Bind9Provider
		want  string
	}{
		{v1alpha1.Bind9Provider{InstancesFrom: []v1alpha1.Bind9InstanceSelection{label}, CatalogZone: "catalog.example."}, ""},
		{v1alpha1.Bind9Provider{CatalogZone: "catalog.example."}, "spec.bind9.clusterRef: Required"},
		{v1alpha1.Bind9Provider{ClusterRef: ref("", "edge"), CatalogZone: "catalog.example."}, "spec.bind9.clusterRef.namespace: Required"},
		{v1alpha1.Bind9Provider{ClusterRef: ref("dns", "Edge"), CatalogZone: "catalog.example."}, "spec.bind9.clusterRef.name: Invalid"},
		{in(), "spec.bind9.instancesFrom[1].namespaces: Required"},
		{in("dns", "dns"), "spec.bind9.instancesFrom[1].namespaces[1]: Duplicate"},
		{in("a/b"), "spec.bind9.instancesFrom[1].namespaces[0]: Invalid"},
		{in(slices.Repeat([]string{"dns"}, 65)...), "spec.bind9.instancesFrom[1].namespaces: Too many"},
		{v1alpha1.Bind9Provider{ClusterRef: ref("dns", "edge")}, "spec.bind9.catalogZone: Required"},
		{v1alpha1.Bind9Provider{ClusterRef: ref("dns", "edge"), CatalogZone: "catalog"}, "spec.bind9.catalogZone: Invalid"},
		{v1alpha1.Bind9Provider{InstancesFrom: slices.Repeat([]v1alpha1.Bind9InstanceSelection{label}, 17), CatalogZone: "catalog.example."}, "spec.bind9.instancesFrom: Too many"},
		{mode("Catalog", "catalog.example."), ""},
		{mode("Catalog", "catalog.example.", "192.0.2.1"), "spec.bind9.primaries: Forbidden"},
		{mode("Transfer", "", "192.0.2.1", "[2001:db8::1]:5353"), ""},
		{mode("Transfer", ""), "spec.bind9.primaries: Required"},
		{mode("Transfer", "", "primary.example"), "spec.bind9.primaries[0]: Invalid"},
		{mode("Transfer", "", "192.0.2.1", "192.0.2.1:53"), "spec.bind9.primaries[1]: Duplicate"},
		{mode("Transfer", "", slices.Repeat([]string{"192.0.2.1"}, 17)...), "spec.bind9.primaries: Too many"},
		{mode("Transfer", "catalog.example.", "192.0.2.1"), "spec.bind9.catalogZone: Forbidden"},
		{mode("Update", ""), ""},
		{mode("Update", "", "192.0.2.1"), "spec.bind9.primaries: Forbidden"},
		{mode("Update", "catalog.example."), "spec.bind9.catalogZone: Forbidden"},
		{mode("Push", "catalog.example."), "spec.bind9.mode: Unsupported"},
	} {
		class := newClass(func(s *v1alpha1.DNSClassSpec) { s.Bind9 = &test.block })
		errs := DNSClass(class, false)
		wantRules(t, errs)
		if test.want == "" && len(errs) > 0 || test.want != "" && (len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), test.want)) {
			t.Errorf("%+v: %v, want %q", test.block, errs, test.want)
		}
	}
}

// S11.15: also if absent.
func TestDNSClass_bind9ModeStays_S11_15(t *testing.T) {
	in := func(mode v1alpha1.Bind9Mode) *v1alpha1.DNSClass {
		block := &v1alpha1.Bind9Provider{ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: "dns", Name: "edge"}, Mode: mode}
		switch mode {
		case v1alpha1.Bind9ModeTransfer:
			block.Primaries = []string{"192.0.2.1"}
		case "", v1alpha1.Bind9ModeCatalog:
			block.CatalogZone = "catalog.example."
		}
		class := newClass(func(s *v1alpha1.DNSClassSpec) { s.Bind9 = block })
		class.ResourceVersion = "1"
		return class
	}
	for _, from := range []v1alpha1.Bind9Mode{"", v1alpha1.Bind9ModeCatalog, v1alpha1.Bind9ModeTransfer, v1alpha1.Bind9ModeUpdate} {
		for _, to := range []v1alpha1.Bind9Mode{"", v1alpha1.Bind9ModeCatalog, v1alpha1.Bind9ModeTransfer, v1alpha1.Bind9ModeUpdate} {
			errs := DNSClassUpdate(in(to), in(from), false)
			if same := from == to || from+to == v1alpha1.Bind9ModeCatalog; same != (len(errs) == 0) || !same && errs[0].Field != "spec.bind9.mode" {
				t.Errorf("%q to %q: %v", from, to, errs)
			}
		}
	}
}
