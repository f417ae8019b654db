// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/tsig"
)

// rotating contains the prefixes of keys that are accepted during a rotation but do not sign.
var rotating = []string{"next-", "former-"}

func ReadTSIGKey(ref v1alpha1.SecretReference, secret GetFunc) (tsig.Key, error) {
	key, _, err := ReadTSIGKeys(ref, secret)
	return key, err
}

// ReadTSIGKeys returns the TSIG keys in a Secret: signKey, to sign messages, and otherKeys, with the prefixes next- and
// former- (such as next-secret), which are accepted during a rotation. If a value is missing or invalid, the error is a
// *delivery.Error. Errors of readSecret are returned unchanged.
func ReadTSIGKeys(ref v1alpha1.SecretReference, readSecret GetFunc) (signKey tsig.Key, otherKeys []tsig.Key, err error) {
	data, err := readSecret(ref.Namespace, ref.Name)
	if err != nil {
		return tsig.Key{}, nil, err
	}
	if signKey, err = readTSIGKey(ref, data, ""); err != nil {
		return tsig.Key{}, nil, err
	}
	for _, prefix := range rotating {
		if len(data[prefix+"name"]) == 0 {
			continue
		}
		other, err := readTSIGKey(ref, data, prefix)
		if err != nil {
			return tsig.Key{}, nil, err
		}
		otherKeys = append(otherKeys, other)
	}
	return signKey, otherKeys, nil
}

// readTSIGKey reads the key with a prefix, "" for the signing key. Without an algorithm it is hmac-sha256. Errors are
// *delivery.Error and quote no value.
func readTSIGKey(ref v1alpha1.SecretReference, data map[string][]byte, prefix string) (tsig.Key, error) {
	for _, needed := range []string{prefix + "name", prefix + "secret"} {
		if len(data[needed]) == 0 {
			return tsig.Key{}, delivery.Errorf(delivery.ReasonSecretNotFound, "Secret %s/%s: data[%q] is missing or empty; "+
				"put the value there", ref.Namespace, ref.Name, needed)
		}
	}
	algorithm := string(tsig.HMACSHA256)
	if text := strings.TrimSpace(string(data[prefix+"algorithm"])); text != "" {
		algorithm = strings.TrimSuffix(strings.ToLower(text), ".") + "."
	}
	octets, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(data[prefix+"secret"])))
	var key tsig.Key
	if err != nil {
		// The decoder's error quotes a part of the secret.
		err = errors.New("secret: is not base64; write it as tsig-keygen does")
	} else {
		key, err = tsig.NewKey(strings.TrimSpace(string(data[prefix+"name"])), tsig.Algorithm(algorithm), octets)
	}
	if err != nil {
		return tsig.Key{}, &delivery.Error{Reason: delivery.ReasonInvalidConfiguration, Message: fmt.Sprintf("Secret %s/%s: %v",
			ref.Namespace, ref.Name, err)}
	}
	return key, nil
}
