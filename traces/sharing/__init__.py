"""Share links of all subjects: tokens, terms and views. What a link shows is composed in `cockpit.sharing`."""
