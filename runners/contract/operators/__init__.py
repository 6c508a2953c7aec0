"""What runners share to verify an operator of a user's own against a plain one."""
