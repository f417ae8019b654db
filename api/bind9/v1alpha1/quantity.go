// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Quantity is an amount of a resource as written: "1Gi", "500m", or a number. It is a string: decoding Kubernetes' own
// Quantity computes it before validation, for hours with an exponent of ten digits.
type Quantity string

// quantityForm bounds the computation.
var quantityForm = regexp.MustCompile(`^[+-]?([0-9]{1,18}(\.[0-9]{0,9})?|\.[0-9]{1,9})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`)

// Parse returns the amount, or an error with the right form.
func (q Quantity) Parse() (resource.Quantity, error) {
	if !quantityForm.MatchString(string(q)) {
		return resource.Quantity{}, fmt.Errorf(`is no quantity: write at most 18 digits with a suffix, such as "1Gi" or "500m"`)
	}
	return resource.ParseQuantity(string(q))
}

// UnmarshalJSON accepts a string or a number.
func (q *Quantity) UnmarshalJSON(data []byte) error {
	var number json.Number // also accepts a string, and checks it as a number
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, (*string)(q))
	}
	if err := json.Unmarshal(data, &number); err != nil {
		return err
	}
	*q = Quantity(number)
	return nil
}

// OpenAPISchemaType is for the OpenAPI generator.
func (Quantity) OpenAPISchemaType() []string { return []string{"string"} }

// OpenAPISchemaFormat is for the OpenAPI generator.
func (Quantity) OpenAPISchemaFormat() string { return "" }

// OpenAPIV3OneOfTypes is for the OpenAPI 3 generator.
func (Quantity) OpenAPIV3OneOfTypes() []string { return []string{"string", "number"} }
