// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transferclass

import (
	"fmt"
	"sync"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/precedence"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/primary"
)

// Keys has the TSIG keys of all classes, and denies a BIND server a key whose name is taken. A signed message
// identifies its key by the name alone, so the hidden primary can accept only one key of each name:
//
//   - A Bind9Instance's authors choose its key. The name must end in their namespace (NamespaceOfKey), so that they
//     take no name of others.
//   - A key that a class names itself wins over a server's.
//   - Among servers of the same namespace, the older class wins.
type Keys struct {
	mu      sync.Mutex
	byClass map[string]*heldKeys
	byName  map[string]map[string]*heldKeys // by key name and class
}

// heldKeys are the keys of a class; the class "" has the primary's own keys.
type heldKeys struct {
	rank      precedence.Rank
	ofServers bool
	claims    map[string]string
}

// Hold replaces the keys of a class. The function release removes them, unless they were replaced since.
func (k *Keys) Hold(dnsClass *v1alpha1.DNSClass, peers Peers) (release func()) {
	if dnsClass.Spec.Paused {
		peers = Peers{}
	}
	return k.holdKeys(dnsClass.Name, &heldKeys{rankOf(dnsClass), dnsClass.Spec.Bind9 != nil, peers.Claims()})
}

func (k *Keys) holdGeneral(keys []tsig.Key) {
	k.holdKeys("", &heldKeys{claims: Peers{Class: primary.ClassConfig{Keys: keys}}.Claims()})
}

// holdKeys replaces the keys of a class, in both maps. A nil k holds nothing.
func (k *Keys) holdKeys(class string, keys *heldKeys) (release func()) {
	if k == nil {
		return func() {}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byClass == nil {
		k.byClass, k.byName = map[string]*heldKeys{}, map[string]map[string]*heldKeys{}
	}
	k.forgetKeys(class)
	k.byClass[class] = keys
	for name := range keys.claims {
		if k.byName[name] == nil {
			k.byName[name] = map[string]*heldKeys{}
		}
		k.byName[name][class] = keys
	}
	// The keys may have been replaced since: then the later holder keeps the name.
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.byClass[class] == keys {
			k.forgetKeys(class)
		}
	}
}

// mu is held.
func (k *Keys) forgetKeys(class string) {
	had := k.byClass[class]
	if had == nil {
		return
	}
	delete(k.byClass, class)
	for name := range had.claims {
		if delete(k.byName[name], class); len(k.byName[name]) == 0 {
			delete(k.byName, name)
		}
	}
}

func (k *Keys) release(class string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgetKeys(class)
}

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

// denyReason returns why a server of a namespace must not have a key, as the rest of a sentence, or "" if it may. A nil
// k denies nothing.
func (k *Keys) denyReason(of *v1alpha1.DNSClass, namespace string, key tsig.Key) string {
	if k == nil {
		return ""
	}
	if !isForServer(namespace, key) {
		return fmt.Sprintf("the key of a server of namespace %s is named LABEL.%s.%s. (S11.17)", namespace, serverLabel, namespace)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, other := range k.byName[key.Name] {
		// Not a conflict: the class itself, the same key, or a younger class of servers.
		if name == of.Name || other.claims[key.Name] == identityOf(key) || other.ofServers && rankOf(of).Compare(other.rank) < 0 {
			continue
		}
		if name == "" {
			return "the primary has another key of that name"
		}
		if _, cluster, ok := apiclass.SplitCluster(name); ok {
			return "Bind9Cluster " + cluster + " has another key of that name"
		}
		return "DNSClass " + name + " has another key of that name"
	}
	return ""
}

const serverLabel = "bind9"

// NamespaceOfKey returns the only namespace that may have a key of this name; "" means any. Keys of UpdateKeys are
// named LABEL.NAMESPACE., keys of servers (ofServer) LABEL.bind9.NAMESPACE. The namespace need not exist.
func NamespaceOfKey(key tsig.Key) (namespace string, ofServer bool) {
	switch labels := key.Labels(); {
	case len(labels) == 2:
		return labels[1], false
	case len(labels) == 3 && labels[1] == serverLabel:
		return labels[2], true
	}
	return "", false
}

func isForServer(namespace string, key tsig.Key) bool {
	of, ofServer := NamespaceOfKey(key)
	return ofServer && of == namespace
}

// identityOf distinguishes keys of the same name. Never print the result.
func identityOf(key tsig.Key) string {
	return string(key.Algorithm) + string(key.MAC([]byte(key.Name)))
}
