// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transferclass

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
)

type secretsOfMaps map[string]map[string][]byte

func (s secretsOfMaps) Get(_ context.Context, namespace, name string) (map[string][]byte, error) {
	if data := s[namespace+"/"+name]; data != nil {
		return data, nil
	}
	return nil, secrets.ErrNotFound
}

// secretOf is the Secret of a key; each letter is another key.
func secretOf(name, letter string) map[string][]byte {
	return map[string][]byte{"name": []byte(name), "secret": []byte(strings.Repeat(letter, 42) + "I=")}
}

func secretAlways(name, letter string) secrets.GetFunc {
	return func(string, string) (map[string][]byte, error) { return secretOf(name, letter), nil }
}

func classOf(name string, age time.Duration, change func(*v1alpha1.DNSClassSpec)) *v1alpha1.DNSClass {
	of := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0).Add(-age))}}
	of.Spec.Namespaces = &v1alpha1.NamespaceSelection{Selector: &metav1.LabelSelector{}}
	change(&of.Spec)
	return of
}

func withKey(name string, age time.Duration, secret string) *v1alpha1.DNSClass {
	return classOf(name, age, func(s *v1alpha1.DNSClassSpec) {
		s.Transfer = &v1alpha1.TransferProvider{TSIGSecretRef: &v1alpha1.SecretReference{Namespace: "platform", Name: secret}, Secondaries: []v1alpha1.Secondary{{Address: "192.0.2.1"}}}
	})
}

func withServers(name string, age time.Duration, namespace string) *v1alpha1.DNSClass {
	return classOf(name, age, func(s *v1alpha1.DNSClassSpec) {
		s.Bind9 = &v1alpha1.Bind9Provider{CatalogZone: "catalog." + name + ".", InstancesFrom: []v1alpha1.Bind9InstanceSelection{{Namespaces: []string{namespace}}}}
	})
}

func serverOf(namespace, name, address, secret string) *bind9.Bind9Instance {
	instance := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}
	instance.CreationTimestamp = metav1.NewTime(time.Unix(1e9, 0).Add(time.Duration(len(name)) * time.Hour)) // the shorter name first
	instance.Spec.ZoneNamespaces = &bind9.NamespaceSelection{Selector: &metav1.LabelSelector{}}
	instance.Spec.External = &bind9.ExternalServer{Address: address, TSIGSecretName: secret}
	return instance
}

func newController(t *testing.T, secrets secretsOfMaps, general []tsig.Key, objects ...runtime.Object) *Controller {
	t.Helper()
	dns := must.Get(primary.New(primary.Config{Zones: zoneview.NewSet(zoneview.Config{}), Listen: netip.MustParseAddrPort("127.0.0.1:0"), Keys: general}))(t)
	t.Cleanup(func() { dns.Close() })
	informers := externalversions.NewSharedInformerFactory(fake.NewClientset(objects...), 0)
	api := informers.Kubizone().V1alpha1()
	c := must.Get(New(Config{Primary: dns, Members: NewMembers(nil), Classes: api.DNSClasses(), Zones: api.Zones(), Secrets: secrets, Servers: NewServers(informers), GeneralKeys: general}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	informers.StartWithContext(ctx)
	t.Cleanup(func() { cancel(); informers.Shutdown(); c.queue.ShutDown() })
	informers.WaitForCacheSync(ctx.Done())
	return c
}

// "none": the primary does not serve the class.
func rowsOf(c *Controller, class string) []string {
	known := c.serving[class]
	if known == nil {
		return []string{"none"}
	}
	var rows []string
	for _, s := range known.peers.Secondaries {
		rows = append(rows, s.Name)
	}
	return rows
}

// Mallory names the key of a server in an older class like a younger class's. The younger class and the other servers
// stay served; the row of mallory's server has the reason (attack: a tenant ends a class).
func TestKeys_ofServersEndNoClass_S11_17(t *testing.T) {
	shared, younger, older := withServers("shared", time.Hour, "team"), withKey("victim", 0, "victim"), withKey("elder", 2*time.Hour, "elder")
	stored := secretsOfMaps{
		"platform/victim": secretOf("victim.bind9.team", "A"), "platform/elder": secretOf("elder.bind9.team", "A"),
		"team/honest": secretOf("honest.bind9.team", "A"), "team/a-mallory": secretOf("victim.bind9.team", "B"),
	}
	beside := func(prefix, name string) map[string][]byte {
		secret := secretOf("mallory.bind9.team", "B")
		for key, value := range secretOf(name, "B") {
			secret[prefix+key] = value
		}
		return secret
	}
	for _, order := range [][]string{{"elder", "shared", "victim"}, {"victim", "shared", "elder"}, {"shared", "victim", "elder"}} {
		for at, name := range []string{"victim.bind9.team", "elder.bind9.team", "general.bind9.team", "honest.bind9.team",
			"victim.bind9.team", "honest.bind9.team"} {
			stored["team/a-mallory"] = secretOf(name, "B")
			if at > 3 {
				stored["team/a-mallory"] = beside([]string{"next-", "former-"}[at-4], name)
			}
			general, err := secrets.ReadTSIGKey(v1alpha1.SecretReference{Namespace: "platform", Name: "general"},
				secretAlways("general.bind9.team", "A"))
			must.Succeed(t, err)
			c := newController(t, stored, []tsig.Key{general}, shared, younger, older, serverOf("team", "honest", "192.0.2.2", "honest"),
				serverOf("team", "a-mallory", "192.0.2.3", "a-mallory"))
			for range 2 { // a repetition changes nothing
				for _, class := range order {
					if err := c.syncPeers(t.Context(), class); err != nil {
						t.Fatalf("%v with the name %s: %s: %v", order, name, class, err)
					}
				}
			}
			for class, want := range map[string]string{"shared": "team/honest", "victim": "192.0.2.1", "elder": "192.0.2.1"} {
				if got := rowsOf(c, class); !slices.Equal(got, []string{want}) {
					t.Errorf("%v with the name %s: %s has %q, want %s", order, name, class, got, want)
				}
			}
			servers := must.Get(c.Servers.ListServers(shared))(t)
			selected, err := ReadServers(shared, servers, &c.keys, func(namespace, name string) (map[string][]byte, error) {
				return stored.Get(t.Context(), namespace, name)
			})
			must.Succeed(t, err)
			if w := selected.Waiting; len(w) != 1 || RowName(w[0].Server) != "team/a-mallory" || !strings.Contains(w[0].Err.Message, name) || !strings.Contains(w[0].Err.Message, "rename the key of the server, in the Secret team/a-mallory") {
				t.Errorf("%v with the name %s: waiting %+v", order, name, w)
			}
		}
	}
}

// If servers of two classes have different keys of one name, the server of the older class has the name. The order in
// which the controller sees them does not matter (S11.17).
func TestKeys_ofServersOfTwoClasses_S11_17(t *testing.T) {
	secrets := secretsOfMaps{"a/one": secretOf("same.bind9.a", "A"), "a/two": secretOf("same.bind9.a", "B"),
		"a/three": secretOf("three.bind9.a", "A")}
	of := func(class *v1alpha1.DNSClass) *v1alpha1.DNSClass {
		class.Spec.Bind9.InstancesFrom[0].Selector.MatchLabels = map[string]string{"class": class.Name}
		return class
	}
	in := func(class string, server *bind9.Bind9Instance) *bind9.Bind9Instance {
		server.Labels = map[string]string{"class": class}
		return server
	}
	for _, order := range [][]string{{"older", "younger"}, {"younger", "older"}} {
		c := newController(t, secrets, nil, of(withServers("older", time.Hour, "a")), of(withServers("younger", 0, "a")),
			in("older", serverOf("a", "one", "192.0.2.1", "one")), in("younger", serverOf("a", "two", "192.0.2.2", "two")),
			in("younger", serverOf("a", "three", "192.0.2.3", "three")))
		for range 2 {
			for _, class := range order {
				must.Succeed(t, c.syncPeers(t.Context(), class))
			}
		}
		one, two := rowsOf(c, "older"), rowsOf(c, "younger")
		if !slices.Equal(one, []string{"a/one"}) || !slices.Equal(two, []string{"a/three"}) {
			t.Errorf("%v: %q and %q", order, one, two)
		}
	}
}

// A primary has only one TSIG key of a name, so a team could take away a foreign key's name by naming its server's key
// so. A server's key must therefore be named LABEL.bind9.NAMESPACE. after its own namespace. Otherwise no class takes
// the server, not even the team's own Bind9Cluster, and the server's row says how to name the key (S11.17, attack 103).
func TestKeys_ofServersAreNamedAfterTheirNamespace_S11_17(t *testing.T) {
	cluster := &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "edge", UID: "edge",
		Finalizers: []string{v1alpha1.FinalizerDelivery}}}
	own := apiclass.OfCluster(cluster)
	for name, fits := range map[string]bool{"vm.bind9.team": true, "VM.Bind9.Team.": true, "acme.victim": false, "vm.bind9.victim": false,
		"acme.team": false, "dhcp-key": false, "transfer.example.org": false, "vm.team.bind9": false, "a.vm.bind9.team": false} {
		server := serverOf("team", "vm", "192.0.2.2", "vm")
		server.Spec.ClusterRef = &bind9.ClusterReference{Name: "edge"}
		c := newController(t, secretsOfMaps{"team/vm": secretOf(name, "A")}, nil, withServers("shared", 0, "team"), cluster, server)
		for _, class := range []string{"shared", own.Name} {
			must.Succeed(t, c.syncPeers(t.Context(), class))
			if got := len(rowsOf(c, class)) == 1 && rowsOf(c, class)[0] == "team/vm"; got != fits {
				t.Errorf("%s: a server with the key %s is in it: %v, want %v", class, name, got, fits)
			}
		}
		servers := must.Get(c.Servers.ListServers(own))(t)
		selected := must.Get(ReadServers(own, servers, &c.keys, secretAlways(name, "A")))(t)
		if w := selected.Waiting; !fits && (len(w) != 1 || !strings.Contains(w[0].Err.Message, "is named LABEL.bind9.team.")) {
			t.Errorf("with the key %s: waiting %+v", name, w)
		}
	}
}

// A key name that a class already uses stays with that class. This holds even if an older class gets a Secret with
// another key of that name later, at every primary, in any order, and while the class is paused (S11.18, attack 105).
func TestController_keyNameInUse_S11_18(t *testing.T) {
	user := withKey("user", 0, "user")
	user.Status.KeyNames = []string{"same.example."}
	for _, order := range [][]string{{"sleeper", "user"}, {"user", "sleeper"}} {
		secrets := secretsOfMaps{"platform/user": secretOf("same.example", "A")}
		c := newController(t, secrets, nil, withKey("sleeper", time.Hour, "sleeper"), user)
		sync := func() {
			for range 2 {
				for _, class := range order {
					err := c.syncPeers(t.Context(), class)
					if class == "user" {
						must.Succeed(t, err)
					}
				}
			}
		}
		sync()
		secrets["platform/sleeper"] = secretOf("same.example", "B")
		sync()
		if got := rowsOf(c, "sleeper"); rowsOf(c, "user")[0] != "192.0.2.1" || got[0] != "none" {
			t.Errorf("%v: the user has %q, the sleeper %q", order, rowsOf(c, "user"), got)
		}
		delete(secrets, "platform/user")
		c.endClass("user")
		err := c.syncPeers(t.Context(), "sleeper")
		if err == nil || !strings.Contains(err.Error(), "DNSClass user has another key of the same name") {
			t.Errorf("%v: the user is away, and the sleeper is told %v", order, err)
		}
	}
}

// A primary can have only one TSIG key of a name, so a class that uses a name keeps others from it. The name is free
// again when the class uses another key, or has ended.
func TestKeys_areLetGoOf(t *testing.T) {
	var k Keys
	key := func(letter string) tsig.Key {
		key := must.Get(secrets.ReadTSIGKey(v1alpha1.SecretReference{}, secretAlways("k.bind9.team", letter)))(t)
		return key
	}
	peers := func(letter string) Peers { return Peers{Class: primary.ClassConfig{Keys: []tsig.Key{key(letter)}}} }
	holder, asks := withKey("holder", 0, "s"), withServers("asks", time.Hour, "team")
	first := k.Hold(holder, peers("A"))
	if k.denyReason(asks, "team", key("B")) == "" || k.denyReason(asks, "team", key("A")) != "" {
		t.Error("another key of the name, or the same, is not told apart")
	}
	second := k.Hold(holder, peers("B"))
	first() // of the former provider
	if k.denyReason(asks, "team", key("B")) != "" || k.denyReason(asks, "team", key("A")) == "" {
		t.Error("what the class has taken since is not held")
	}
	second()
	if why := k.denyReason(asks, "team", key("A")); why != "" {
		t.Error(why)
	}
	holder.Spec.Paused = true
	k.Hold(holder, peers("A"))
	if why := k.denyReason(asks, "team", key("B")); why != "" {
		t.Errorf("of a class that is paused: %s", why)
	}
	if len(k.byName) != 0 || len(k.classesWith(peers("A").Claims())) != 0 {
		t.Errorf("names of keys that no class has: %v", k.byName)
	}
	k.Hold(asks, peers("A"))
	if classes := k.classesWith(peers("B").Claims()); !maps.Equal(classes, map[string]bool{"asks": true}) {
		t.Errorf("classes with a key of the name: %v", classes)
	}
}
