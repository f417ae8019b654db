// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func makeKey(prefix string, octet byte) render.Key {
	made, err := render.NewKey(prefix+"-*", "", bytes.NewReader(bytes.Repeat([]byte{octet}, 64)))
	if err != nil {
		panic(err)
	}
	return made
}

func makePlatform() render.Platform {
	return render.Platform{
		Installation: "kubizone-system.kubizone-fleet", BINDRepository: "docker.io/internetsystemsconsortium/bind9",
		AgentImage: "registry.example/kubizone:v0.5.0", ClientNamespace: "kubizone-system",
	}
}

func newServer(instance *bind9.Bind9Instance, cluster *bind9.Bind9Cluster) render.Server {
	s := render.Merge(instance, cluster)
	s.Platform, s.Transfer = makePlatform(), render.TransferKeys{Key: makeKey("bind9", 2)}
	s.Access = render.Access{Token: strings.Repeat("t", 43), Certificate: []byte("certificate"), PrivateKey: []byte("private key"), Authority: []byte("authority")}
	s.Control = makeKey("rndc", 1)
	return s
}

func makeInstance() (*bind9.Bind9Instance, *bind9.Bind9Cluster) {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "platform-dns", Name: name, UID: "11111111-2222-3333-4444-555555555555"}
	}
	return &bind9.Bind9Instance{ObjectMeta: meta("prod-secondary-0"), Spec: bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary, ClusterRef: &bind9.ClusterReference{Name: "prod"}}},
		&bind9.Bind9Cluster{ObjectMeta: meta("prod")}
}

// allSettings sets every field of a cluster.
func allSettings() (*bind9.Bind9Instance, *bind9.Bind9Cluster) {
	instance, cluster := makeInstance()
	amounts := func(cpu, memory bind9.Quantity) *bind9.Amounts { return &bind9.Amounts{CPU: cpu, Memory: memory} }
	seconds := int64(60)
	cluster.Spec = bind9.Bind9ClusterSpec{
		ServerSettings: bind9.ServerSettings{
			Version: "9.18",
			Image:   &bind9.Image{Repository: "registry.example/bind9", Digest: "sha256:" + strings.Repeat("0", 64), PullPolicy: bind9.PullAlways, PullSecrets: []string{"pull"}},
			Config: &bind9.Config{
				AllowQuery: []string{"!192.0.2.66", "any"}, AllowTransfer: []string{"198.51.100.0/24", "2001:db8::1"},
				QueryLog: true, RateLimit: &bind9.RateLimit{ResponsesPerSecond: 20, ExemptClients: []string{"10.0.0.0/8", "!10.1.2.3"}},
				UpdateForwarding: []string{"10.1.0.0/16"},
			},
			Agent:   &bind9.Agent{Kind: bind9.AgentBindcar, Resources: &bind9.Resources{Requests: amounts("10m", "32Mi"), Limits: amounts("1", "64Mi")}},
			Storage: &bind9.Storage{Type: bind9.StoragePersistentVolumeClaim, Capacity: "2Gi", StorageClassName: "fast"},
			Placement: &bind9.Placement{
				Required: true, NodeSelector: map[string]string{"dns": "yes"}, PriorityClassName: "dns",
				Tolerations: []bind9.Toleration{{Key: "dns", Operator: bind9.TolerationExists, Effect: bind9.TaintNoExecute, TolerationSeconds: &seconds}},
			},
		},
		Secondary: &bind9.RoleSettings{
			Resources: &bind9.Resources{Requests: amounts("100m", "128Mi"), Limits: amounts("2", "1Gi")},
			Service: &bind9.Service{
				Type: bind9.ServiceLoadBalancer, Annotations: map[string]string{"example.com/address": "192.0.2.53"}, ExternalTrafficPolicy: bind9.TrafficLocal,
				LoadBalancerSourceRanges: []string{"192.0.2.0/24"},
			},
		},
	}
	return instance, cluster
}

func makeCatalogs() []render.Catalog {
	zone, err := name.Parse("prod.catalog.example.")
	if err != nil {
		panic(err)
	}
	return []render.Catalog{{Zone: zone, Primaries: []netip.AddrPort{netip.MustParseAddrPort("10.96.0.53:53"), netip.MustParseAddrPort("[2001:db8::35]:53")}}}
}

// UPDATE=1 writes the golden files.
func TestObjects_areThoseOfTheGoldenFiles(t *testing.T) {
	alone, _ := makeInstance()
	alone.Name, alone.Spec.ClusterRef, alone.Spec.Role = "lone", nil, bind9.RolePrimary
	instance, cluster := makeInstance()
	rich, richCluster := allSettings()
	for golden, server := range map[string]render.Server{
		"plain": newServer(instance, cluster), "all": newServer(rich, richCluster), "alone": newServer(alone, nil),
	} {
		if golden == "all" {
			server.Catalogs = makeCatalogs()
			server.UnkeyedPrimaries = []netip.Addr{netip.MustParseAddr("192.0.2.10"), netip.MustParseAddr("2001:db8::35")}
			server.Platform.KeyReaders = []types.NamespacedName{{Namespace: "kubizone-system", Name: "kubizone-controller"}, {Namespace: "kubizone-system", Name: "kubizone-primary"}} // S11.31
		}
		objects := must.Get(server.Objects())(t)
		owner := render.Owner{Kind: render.KindInstance, Name: server.Name, UID: server.UID}
		if server.Cluster != "" {
			owner = render.Owner{Kind: render.KindCluster, Name: server.Cluster, UID: "u"}
			objects = append(objects, render.Disruption(server.Namespace, owner, server.Role, &server.Platform))
		}
		objects = append(objects, render.TransferObjects(server.Namespace, owner, server.Transfer, &server.Platform)...)
		var text bytes.Buffer
		for _, o := range objects {
			one := must.Get(yaml.Marshal(o.Config))(t)
			fmt.Fprintf(&text, "---\n%s", one)
			if strings.Contains(string(one), "ownerReferences") {
				t.Errorf("%s %s has ownerReferences (R4)", o.Resource.Resource, o.Name)
			}
		}
		path := filepath.Join("testdata", golden+".yaml")
		if os.Getenv("UPDATE") != "" {
			must.Succeed(t, os.WriteFile(path, text.Bytes(), 0o644))
		}
		want := must.Get(os.ReadFile(path))(t)
		if !bytes.Equal(text.Bytes(), want) {
			t.Errorf("%s: the objects differ from it; look at the difference after UPDATE=1 go test ./pkg/bind9/fleet/render", path)
		}
	}
}

// checkConf runs named-checkconf on a server's files. err is the error of rendering; result has the program's output
// and error.
func checkConf(ctx context.Context, t *testing.T, program, dir string, server render.Server) (result checked, err error) {
	t.Helper()
	files, err := server.Files()
	if err != nil {
		return result, err
	}
	keys, err := server.KeyFiles()
	if err != nil {
		return result, err
	}
	inDir := strings.NewReplacer(render.ConfigDir, dir, render.StateDir, dir)
	for _, some := range []map[string]string{files, keys} {
		for file, text := range some {
			must.Succeed(t, os.WriteFile(filepath.Join(dir, file), []byte(inDir.Replace(text)), 0o600))
		}
	}
	out, refused := exec.CommandContext(ctx, program, filepath.Join(dir, "named.conf")).CombinedOutput()
	return checked{files["named.conf"], string(out), refused}, nil
}

type checked struct {
	config, out string
	err         error
}

func (c checked) wantTaken(t *testing.T) {
	t.Helper()
	if c.err != nil || c.out != "" {
		t.Errorf("named-checkconf: %v %s\n%s", c.err, c.out, c.config)
	}
}

// drawWord returns a user's list element: mostly valid, sometimes an injection.
func drawWord(r *rand.Rand) string {
	words := []string{
		"any", "none", "localhost", "localnets", "192.0.2.1", "192.0.2.0/24", "192.0.2.1/24", "2001:db8::/32", "2001:DB8::1", "::ffff:192.0.2.1", "ANY", "LocalHost", "0.0.0.0/0", "::/0", "!any", "!10.0.0.0/8", "! 10.0.0.1",
	}
	if r.IntN(12) == 0 {
		words = []string{"", "!", "x; }; options { recursion yes;", "\"", "key k", "fe80::1%eth0", "192.0.2.256", "10.0.0.0/33", "none; };//", "any /*", "\n", "!!any", "1.2.3", "include \"/etc/passwd\""}
	}
	return words[r.IntN(len(words))]
}

func randomConfig(r *rand.Rand) *bind9.Config {
	list := func() (out []string) {
		for range r.IntN(4) {
			out = append(out, drawWord(r))
		}
		return out
	}
	c := &bind9.Config{QueryLog: r.IntN(2) == 0, AllowQuery: list(), AllowTransfer: list(), UpdateForwarding: list()}
	if r.IntN(2) == 0 {
		c.RateLimit = &bind9.RateLimit{ResponsesPerSecond: 1 + r.Int32N(1000), ExemptClients: list()}
	}
	return c
}

// named-checkconf accepts each random configuration that validation accepts, including injections.
func TestFiles_areWhatBINDTakes(t *testing.T) {
	program := rig.Need(rig.Find("named-checkconf", "apt-get install bind9-utils"))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	rich, cluster := allSettings()
	server := newServer(rich, cluster)
	server.Catalogs = makeCatalogs()
	for _, primary := range server.Catalogs[0].Primaries {
		server.UnkeyedPrimaries = append(server.UnkeyedPrimaries, primary.Addr()) // for bindcar's zones, too
	}
	result, err := checkConf(ctx, t, program, dir, server)
	if err != nil {
		t.Error(err)
	}
	result.wantTaken(t)
	taken, refused := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 19))
		instance, _ := makeInstance()
		instance.Spec.Config = randomConfig(r)
		server := newServer(instance, nil)
		if r.IntN(2) == 0 {
			server.Catalogs = makeCatalogs()
		}
		switch result, err := checkConf(ctx, t, program, dir, server); {
		case err == nil:
			result.wantTaken(t)
			taken++
		case !strings.HasPrefix(err.Error(), "spec.config."):
			t.Errorf("seed %d: %v names no field", seed, err)
		default:
			refused++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if taken < 50 || refused < 50 {
		t.Errorf("%d configurations taken and %d refused: the random ones are too much alike", taken, refused)
	}
}

func TestKeys_areReadAsTheyAreWritten(t *testing.T) {
	instance, cluster := makeInstance()
	server := newServer(instance, cluster)
	objects := must.Get(server.Objects())(t)
	secrets := map[string]corev1.Secret{}
	for _, o := range objects {
		text := must.Get(yaml.Marshal(o.Config))(t)
		var secret corev1.Secret
		if err := yaml.Unmarshal(text, &secret); err == nil && secret.Kind == "Secret" {
			secrets[o.Name] = secret
		}
	}
	control, err := render.ReadControlKey(secrets["prod-secondary-0-rndc-key"].Data)
	if err != nil || control.Name != server.Control.Name || !bytes.Equal(control.Secret, server.Control.Secret) {
		t.Errorf("control key %v, %v", control, err)
	}
	access, err := render.ReadAccess(secrets["prod-secondary-0-agent"].Data)
	if err != nil || access.Token != server.Access.Token || string(access.Certificate) != "certificate" || string(access.PrivateKey) != "private key" || string(access.Authority) != "authority" {
		t.Errorf("access: %v", err)
	}
	if _, err := render.ReadAccess(map[string][]byte{"token": []byte("short")}); err == nil {
		t.Error("a short token is taken")
	}
	for why, data := range map[string]map[string][]byte{
		"no secret": {"key-name": []byte("k")},
		"short":     {"key-name": []byte("k"), "secret": []byte("YWJj")},
		"no base64": {"key-name": []byte("k"), "secret": []byte("?")},
		"name":      {"key-name": []byte(`k"; };`), "secret": []byte(strings.Repeat("YWJj", 8))},
		"algorithm": {"key-name": []byte("k"), "algorithm": []byte("hmac-md5"), "secret": []byte(strings.Repeat("YWJj", 8))},
	} {
		if _, err := render.ReadControlKey(data); err == nil || strings.Contains(err.Error(), "YWJj") {
			t.Errorf("%s: %v, want an error without the secret", why, err)
		}
	}
}

func TestMerge_takesBlocksOfTheCluster(t *testing.T) {
	instance, cluster := allSettings()
	instance.Spec.Version = "9.20"
	instance.Spec.Storage = &bind9.Storage{Type: bind9.StorageEmptyDir}
	instance.Spec.Service = &bind9.Service{Type: bind9.ServiceNodePort}
	zero := int32(0)
	instance.Spec.Replicas = &zero
	s := render.Merge(instance, cluster)
	if s.Settings.Version != "9.20" || s.Settings.Storage.Type != bind9.StorageEmptyDir || s.Service.Type != bind9.ServiceNodePort || s.Replicas != 0 {
		t.Errorf("the instance's own are not taken: %+v", s)
	}
	if s.Settings.Config == nil || !s.Settings.Config.QueryLog || s.Settings.Agent.Kind != bind9.AgentBindcar ||
		s.Resources.Limits == nil || s.Settings.Placement.PriorityClassName != "dns" {
		t.Errorf("the cluster's are not taken: %+v", s)
	}
	if s := render.Merge(instance, nil); s.Settings.Config != nil || s.Cluster != "" {
		t.Errorf("without a cluster: %+v", s)
	}
}

// While a TSIG key is replaced, servers accept the old and the new key. The Secret and named.conf then have both, the
// key that signs first, and the state of the rotation can be read back from the Secret (S11.11).
func TestTransferKeys_ofARotation_S11_11(t *testing.T) {
	one, two := makeKey("bind9-one", 1), makeKey("bind9-two", 2)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, keys := range []render.TransferKeys{{Key: one, Next: &two, CreatedAt: at, SteppedAt: at}, {Key: two, Former: &one, CreatedAt: at, SteppedAt: at.Add(time.Minute)}} {
		server := newServer(makeInstance())
		server.Transfer = keys
		files := must.Get(server.MountedFiles())(t)
		both := fmt.Sprintf("key %q; key %q;", keys.Name, keys.SecondKey().Name)
		must.Say(t, files["named.conf"], "\tallow-notify { "+both+" };\n", "\tallow-transfer { "+both)
		if text := files["tsig.key"]; !strings.HasPrefix(text, fmt.Sprintf("key %q {", keys.Name)) || strings.Count(text, "secret") != 2 || strings.Count(files["named.conf"], fmt.Sprintf("key %q", keys.SecondKey().Name)) != 2 {
			t.Errorf("tsig.key:\n%s", text)
		}
		object := render.TransferObjects("dns", render.Owner{Kind: render.KindCluster, Name: "prod", UID: "u"}, keys, &server.Platform)[0]
		text := must.Get(json.Marshal(object.Config))(t)
		var secret corev1.Secret
		must.Succeed(t, json.Unmarshal(text, &secret))
		if again, err := render.ReadTransferKeys(secret.Annotations, secret.Data); err != nil || !reflect.DeepEqual(again, keys) {
			t.Errorf("%+v, want %+v: %v", again, keys, err)
		}
		for _, broken := range []string{"secret", "next-secret", "former-secret"} {
			data := maps.Clone(secret.Data)
			if len(data[broken]) == 0 {
				continue
			}
			data[broken] = []byte("canary !")
			if _, err := render.ReadTransferKeys(nil, data); !errors.Is(err, render.ErrKey) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: %v", broken, err)
			}
		}
	}
}
