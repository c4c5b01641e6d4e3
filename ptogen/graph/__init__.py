"""What a kernel computes: values, and nodes that make them."""
