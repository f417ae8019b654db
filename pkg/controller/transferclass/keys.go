// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transferclass

import (
	"fmt"
	"sync"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/precedence"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/primary/tsig"
)

// Keys are the TSIG keys of classes. A signature names its key by the name alone, so a name stands for one key in all
// classes together. The authors of a server choose its key, so its name ends in their namespace (NamespaceOfKey): it is
// no name of an UpdateKey or of another namespace's server. The keys that a class itself names have a name before those
// of servers. Of two servers of one namespace, that of the class which was made first has the name.
type Keys struct {
	mu   sync.Mutex
	held map[string]*heldKeys // by class
	// byName are they by the names of their keys and by class, so that the cost of a look does not grow with the number
	// of classes.
	byName map[string]map[string]*heldKeys
}

// heldKeys are the keys of one class. Those that no class names, of a primary itself, are of the class "".
type heldKeys struct {
	rank      precedence.Rank
	ofServers bool
	claims    map[string]string
}

// Hold takes note of the keys that a class has now, in the place of those that it had. release ends that, unless the
// class has taken others since. A class that is paused has none: no primary serves it.
func (k *Keys) Hold(of *v1alpha1.DNSClass, peers Peers) (release func()) {
	if of.Spec.Paused {
		peers = Peers{}
	}
	return k.holdKeys(of.Name, &heldKeys{rankOf(of), of.Spec.Bind9 != nil, peers.Claims()})
}

// holdGeneral takes note of the keys of a primary itself, which have a name before all others.
func (k *Keys) holdGeneral(keys []tsig.Key) {
	k.holdKeys("", &heldKeys{claims: Peers{Class: primary.ClassConfig{Keys: keys}}.Claims()})
}

func (k *Keys) holdKeys(class string, keys *heldKeys) (release func()) {
	if k == nil {
		return func() {}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held == nil {
		k.held, k.byName = map[string]*heldKeys{}, map[string]map[string]*heldKeys{}
	}
	k.forgetKeys(class)
	k.held[class] = keys
	for name := range keys.claims {
		if k.byName[name] == nil {
			k.byName[name] = map[string]*heldKeys{}
		}
		k.byName[name][class] = keys
	}
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.held[class] == keys {
			k.forgetKeys(class)
		}
	}
}

// forgetKeys is called with mu held.
func (k *Keys) forgetKeys(class string) {
	had := k.held[class]
	if had == nil {
		return
	}
	delete(k.held, class)
	for name := range had.claims {
		if delete(k.byName[name], class); len(k.byName[name]) == 0 {
			delete(k.byName, name)
		}
	}
}

// release forgets the keys of a class.
func (k *Keys) release(class string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgetKeys(class)
}

// classesWith returns the classes that have a key of one of these names.
func (k *Keys) classesWith(names map[string]string) map[string]bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	classes := map[string]bool{}
	for name := range names {
		for class := range k.byName[name] {
			classes[class] = true
		}
	}
	return classes
}

// keptFrom returns why a server of a namespace that a class selects may not have a key; "": it may.
func (k *Keys) keptFrom(of *v1alpha1.DNSClass, namespace string, key tsig.Key) string {
	if k == nil {
		return ""
	}
	if !isForServer(namespace, key) {
		return fmt.Sprintf("the key of a server of namespace %s is named LABEL.%s.%s. (S11.17)", namespace, serverLabel, namespace)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, other := range k.byName[key.Name] {
		if name == of.Name || other.claims[key.Name] == meaningOf(key) || other.ofServers && rankOf(of).Compare(other.rank) < 0 {
			continue
		}
		if name == "" {
			return "the primary has another key of that name"
		}
		if _, cluster, ok := apiclass.SplitCluster(name); ok {
			return "Bind9Cluster " + cluster + " has another key of that name" // it is one of the namespace
		}
		return "DNSClass " + name + " has another key of that name"
	}
	return ""
}

// serverLabel is the second label of the names that keys of servers have.
const serverLabel = "bind9"

// NamespaceOfKey returns the namespace that alone may have a key of this name: NAMESPACE of LABEL.NAMESPACE., for
// UpdateKeys, and of LABEL.bind9.NAMESPACE., for servers (ofServer). "": a name of no namespace. The form of the name
// decides, and not which namespaces there are: one that is made later takes no name from others.
func NamespaceOfKey(key tsig.Key) (namespace string, ofServer bool) {
	switch labels := key.Labels(); {
	case len(labels) == 2:
		return labels[1], false
	case len(labels) == 3 && labels[1] == serverLabel:
		return labels[2], true
	}
	return "", false
}

// isForServer reports whether the name of a key is one for the servers of a namespace.
func isForServer(namespace string, key tsig.Key) bool {
	of, ofServer := NamespaceOfKey(key)
	return ofServer && of == namespace
}

// meaningOf tells keys of one name apart. It is compared and never printed.
func meaningOf(key tsig.Key) string {
	return string(key.Algorithm) + string(key.MAC([]byte(key.Name)))
}
