"""Questions of running agents to their operator: may this call be made, and if not, what does it return?"""
